import { hash } from 'node:crypto';
import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import { jsonWriter } from './json.writer.js';

/** SHA-256, in hex, of a message's JSON with sorted keys: equal content gives an equal hash. */
export function canonicalHash<D extends DescMessage>(schema: D, message: MessageShape<D>): string {
  return hash('sha256', jsonWriter(schema, 'canonical')(message), 'hex');
}
