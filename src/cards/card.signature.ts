import { create, type JsonObject } from '@bufbuild/protobuf';
import canonicalize from 'canonicalize';
import {
  type AgentCard,
  AgentCardSchema,
  type AgentCardSignature,
  AgentCardSignatureSchema,
  encodeMessage,
} from '../protocol/index.js';
import type { CardKey } from './card.keys.js';

/**
 * What a signature covers (specification 8.4.1): RFC 8785 over the card's ProtoJSON without `signatures`.
 * ProtoJSON as we write it keeps REQUIRED fields and those set on purpose, and drops other defaults.
 */
export function signedBytes(card: AgentCard): Uint8Array {
  const { signatures: _, ...unsigned } = encodeMessage(AgentCardSchema, card) as JsonObject;
  return new TextEncoder().encode(canonicalize(unsigned));
}

/** One signature by each private key, so that readers who know only the old or only the new one are content. */
export async function signatures(
  card: AgentCard,
  keys: readonly CardKey[],
  jku: string,
): Promise<AgentCardSignature[]> {
  const signing = keys.flatMap(({ signing, alg, kid }) => (signing ? [{ signing, alg, kid }] : []));
  if (signing.length === 0) return [];
  const { FlattenedSign } = await import('jose');
  const payload = signedBytes(card);
  return Promise.all(
    signing.map(async ({ signing, alg, kid }) => {
      const header = { alg, typ: 'JOSE', kid, jku };
      const { protected: written, signature } = await new FlattenedSign(payload)
        .setProtectedHeader(header)
        .sign(signing);
      return create(AgentCardSignatureSchema, { protected: written, signature });
    }),
  );
}
