import { fromBinary, type JsonValue, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalHash, decodeMessage, SendMessageRequestSchema } from './index.js';

const hashOf = (json: JsonValue): string =>
  canonicalHash(SendMessageRequestSchema, decodeMessage(SendMessageRequestSchema, json));

function reversed(json: JsonValue): JsonValue {
  if (Array.isArray(json)) return json.map(reversed);
  if (typeof json !== 'object' || json === null) return json;
  return Object.fromEntries(
    Object.entries(json)
      .reverse()
      .map(([key, value]) => [key, reversed(value)]),
  );
}

describe('canonicalHash', () => {
  const request = (data: JsonValue, metadata: Record<string, JsonValue>) => ({
    message: { messageId: 'm', role: 'ROLE_USER', parts: [{ data }], metadata },
  });

  it('does not depend on the order of keys, nor on the binding', () => {
    const json = () =>
      fc.jsonValue({ stringUnit: 'grapheme' }).map((value) => JSON.parse(JSON.stringify(value)) as JsonValue);
    fc.assert(
      fc.property(json(), fc.dictionary(fc.string(), json()), (data, metadata) => {
        const hash = hashOf(request(data, metadata));
        expect(hashOf(reversed(request(data, metadata)))).toBe(hash);
        const read = decodeMessage(SendMessageRequestSchema, request(data, metadata));
        const travelled = fromBinary(SendMessageRequestSchema, toBinary(SendMessageRequestSchema, read));
        expect(canonicalHash(SendMessageRequestSchema, travelled)).toBe(hash);
      }),
    );
  });

  it('differs with any content', () => {
    const hashes = [
      request({ a: 1, b: 2 }, {}),
      request({ a: 2, b: 1 }, {}),
      request([1, 2], {}),
      request([2, 1], {}),
      request(null, {}),
      request('1', {}),
      request(1, {}),
      request(1, { a: 1 }),
    ].map(hashOf);
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  it('is SHA-256 in hex', () => {
    expect(hashOf({})).toMatch(/^[0-9a-f]{64}$/);
  });
});
