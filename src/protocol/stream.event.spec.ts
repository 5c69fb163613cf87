import { create, fromBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { StreamEvent, StreamResponseSchema } from './index.js';

describe('StreamEvent', () => {
  const response = create(StreamResponseSchema, {
    payload: {
      case: 'message',
      value: { messageId: 'm', parts: [{ content: { case: 'text', value: 'a\nb\u2028c' } }] },
    },
  });

  it('makes each encoding once', () => {
    const event = new StreamEvent(response, 3);
    expect(event.binary).toBe(event.binary);
    expect(fromBinary(StreamResponseSchema, event.binary)).toEqual(response);
    const { json } = event;
    Object.assign(response.payload.value!, { messageId: 'changed' });
    expect(event.json).toBe(json);
    Object.assign(response.payload.value!, { messageId: 'm' });
  });

  it('writes JSON that is one line of an SSE stream', () => {
    const { json } = new StreamEvent(response, 1);
    expect(json).toBe('{"message":{"messageId":"m","parts":[{"text":"a\\nb\\u2028c"}]}}');
  });

  it('keeps the JSON it is given, with line separators escaped', () => {
    expect(new StreamEvent(response, 1, '{"a":"\u2028\u2029"}').json).toBe('{"a":"\\u2028\\u2029"}');
  });
});
