import { createHash } from 'node:crypto';
import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import { encodeMessageText } from './json.codec.js';

/** SHA-256, in hex, of a message's JSON with sorted keys: equal content gives an equal hash. */
export function canonicalHash<D extends DescMessage>(schema: D, message: MessageShape<D>): string {
  return createHash('sha256').update(encodeMessageText(schema, message)).digest('hex');
}
