import { toBinary } from '@bufbuild/protobuf';
import { type StreamEvent, type StreamResponse, v03 } from '../../protocol/index.js';
import type { Caller } from '../caller.js';
import { HABITS, type Habits, habitsOf } from './sdk.callers.js';

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

/** The same, once for each habit that readers have. */
function oncePerHabit<T>(encode: (response: StreamResponse, habits: Habits) => T) {
  const encoders = new Map(HABITS.map((habits) => [habits, once((response) => encode(response, habits))]));
  return (caller: Caller) => encoders.get(habitsOf(caller))!;
}

export const eventJson = once((response) => v03.jsonText(v03.eventJson(response)));

export const eventProtoJson = oncePerHabit((response, { base64, firstProto }) => {
  const frame = v03.eventProto(response);
  if (base64) v03.encodeFiles(frame);
  if (firstProto) v03.firstProto(frame);
  return v03.protoJsonText(v03.StreamResponseSchema, frame);
});

export const eventBinary = oncePerHabit((response, { base64 }) => {
  const frame = v03.eventProto(response);
  return toBinary(v03.StreamResponseSchema, base64 ? v03.encodeFiles(frame) : frame);
});
