import type { PeerCertificate } from 'node:tls';
import type { Config } from '../config/index.js';
import type { Principal } from '../protocol/index.js';
import { RefusedCredential } from './refused.credential.js';

const LONGEST_NAME = 255;
/** Node quotes a name that could be taken for several. */
const ALTERNATIVE = /(\w[\w ]*):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y;

/**
 * The caller that a certificate speaks of, whose chain has been verified by the handshake: the organisation (O) of
 * its subject, and the common name or alternative name that the configuration asks for.
 * @throws RefusedCredential for a certificate that does not name each of them exactly once
 */
export function certificateHolder(certificate: PeerCertificate, config: Config): Principal {
  const { tlsClientSubject: kind, tlsClientScopes } = config;
  const names = kind === 'CN' ? [certificate.subject.CN] : alternativeNames(certificate, kind);
  return {
    organisation: theOnly([certificate.subject.O], 'organisation (O)'),
    subject: theOnly(names, kind),
    scopes: new Set(tlsClientScopes),
  };
}

function alternativeNames({ subjectaltname = '' }: PeerCertificate, kind: string): string[] {
  return [...subjectaltname.matchAll(new RegExp(ALTERNATIVE, 'gy'))].flatMap(([, name, value = '']) => {
    if (name !== kind) return [];
    return [value.startsWith('"') ? (JSON.parse(value) as string) : value];
  });
}

/** Node gives a list where the subject says something more than once. */
function theOnly(given: readonly (string | string[] | undefined)[], what: string): string {
  const [name, ...more] = given.flat();
  if (name && more.length === 0 && name.length <= LONGEST_NAME && !name.includes('\0')) return name;
  throw new RefusedCredential(`The client certificate has no usable ${what}`);
}
