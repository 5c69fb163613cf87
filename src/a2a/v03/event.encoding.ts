import { toBinary } from '@bufbuild/protobuf';
import { type StreamEvent, type StreamResponse, v03 } from '../../protocol/index.js';
import type { Caller } from '../caller.js';
import { speaksBase64 } from './base64.callers.js';

type Frame = ReturnType<typeof v03.eventProto>;

/** Makes an encoding at most once for each event, however many readers of 0.3 it has. */
function once<T>(encode: (response: StreamResponse) => T): (event: StreamEvent) => T {
  const known = new WeakMap<StreamEvent, T>();
  return (event) => {
    let encoded = known.get(event);
    if (encoded === undefined) {
      encoded = encode(event.response);
      known.set(event, encoded);
    }
    return encoded;
  };
}

export const eventJson = once((response) => v03.jsonText(v03.eventJson(response)));

const protoJson = (frame: Frame) => v03.protoJsonText(v03.StreamResponseSchema, frame);
const binary = (frame: Frame) => toBinary(v03.StreamResponseSchema, frame);
const withBase64 = (response: StreamResponse): Frame => v03.encodeFiles(v03.eventProto(response));

const eventProtoJson = once((response) => protoJson(v03.eventProto(response)));
const eventBase64ProtoJson = once((response) => protoJson(withBase64(response)));
const eventBinary = once((response) => binary(v03.eventProto(response)));
const eventBase64Binary = once((response) => binary(withBase64(response)));

export const protoJsonFor = (event: StreamEvent, caller: Caller): string =>
  (speaksBase64(caller) ? eventBase64ProtoJson : eventProtoJson)(event);

export const binaryFor = (event: StreamEvent, caller: Caller): Uint8Array =>
  (speaksBase64(caller) ? eventBase64Binary : eventBinary)(event);
