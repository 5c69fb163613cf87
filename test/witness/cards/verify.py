"""Verifies the card at an address with the verifier of the Python SDK, and a card that differs by one character."""

import json
import sys
import urllib.request

from a2a.types import AgentCard
from a2a.utils.signing import SignatureVerificationError, create_signature_verifier
from google.protobuf.json_format import ParseDict
from jwt.api_jwk import PyJWKSet


def fetch(url):
    with urllib.request.urlopen(url) as response:
        return json.load(response)


def key(kid, jku):
    return PyJWKSet.from_dict(fetch(jku))[kid]


def holds(card):
    verify = create_signature_verifier(key, ['ES256', 'RS256'])
    try:
        verify(ParseDict(card, AgentCard(), ignore_unknown_fields=True))
        return True
    except SignatureVerificationError:
        return False


card = fetch(sys.argv[1])
tampered = {**card, 'description': card['description'] + '.'}
print(json.dumps({'name': card['name'], 'signed': holds(card), 'tampered': holds(tampered)}))
