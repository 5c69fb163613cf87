import { toBinary } from '@bufbuild/protobuf';
import { encodeMessageText, type StreamEvent, type StreamResponse, v03 } from '../../protocol/index.js';

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

export const eventProtoJson = once((response) =>
  encodeMessageText(v03.StreamResponseSchema, v03.eventProto(response)),
);

export const eventBinary = once((response) => toBinary(v03.StreamResponseSchema, v03.eventProto(response)));
