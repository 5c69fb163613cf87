import {
  create,
  fromBinary,
  fromJson,
  type JsonObject,
  type JsonValue,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  byKind,
  frameFrom,
  type Json,
  kindForm,
  protoForm,
  taskFrom,
} from '../../../test/conformance/v03/words.js';
import { event, message, task, text, words } from '../../../test/support/arbitrary.messages.js';
import {
  type Message,
  MessageSchema,
  Role,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskPushNotificationConfigSchema,
  TaskSchema,
} from '../gen/a2a_pb.js';
import * as pb from '../gen/a2a_v03_pb.js';
import { decodeMessage, encodeMessageText } from '../json.codec.js';
import { toValue } from './data.part.js';
import { readPushConfigParams, readSendParams } from './json.reader.js';
import { eventJson, jsonText, messageJson, pushConfigJson, taskBody } from './json.writer.js';
import { readCreateConfigRequest, readSendRequest } from './proto.reader.js';
import { eventProto, messageProto, pushConfigProto, taskProto } from './proto.writer.js';

/** As it goes over JSON-RPC. */
const overJson = (given: Message) =>
  readSendParams({ message: JSON.parse(jsonText(messageJson(given))) }).message;
/** As it goes over gRPC. */
const overBinary = (given: Message) => {
  const bytes = toBinary(pb.MessageSchema, messageProto(given));
  const request = create(pb.SendMessageRequestSchema, { request: fromBinary(pb.MessageSchema, bytes) });
  return readSendRequest(request).message;
};
/** As it goes over HTTP+JSON. */
const overProtoJson = (given: Message) => {
  const line = encodeMessageText(pb.MessageSchema, messageProto(given));
  return readSendRequest(decodeMessage(pb.SendMessageRequestSchema, { message: JSON.parse(line) })).message;
};
const plain = (given: Message | undefined) => toJson(MessageSchema, given!);

describe('A message that goes through 0.3 and back', () => {
  it.each([
    ['JSON-RPC', overJson],
    ['gRPC', overBinary],
    ['HTTP+JSON', overProtoJson],
  ])('is what it was, over %s (B114, B102)', (_, over) => {
    fc.assert(
      fc.property(message, (given) => {
        expect(plain(over(given))).toEqual(plain(given));
      }),
      { numRuns: 100 },
    );
  });

  it('keeps data that is no object, marked as the SDKs mark it', () => {
    const values: JsonValue[] = [null, 0, 'text', true, [1, { a: null }], {}, { value: 1 }];
    for (const value of values) {
      const given = create(MessageSchema, {
        messageId: 'm',
        role: Role.USER,
        parts: [{ content: { case: 'data', value: toValue(value) } }],
      });
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      expect((messageJson(given).parts as object[])[0]).toEqual(
        isObject
          ? { kind: 'data', data: value, metadata: undefined }
          : { kind: 'data', data: { value }, metadata: { data_part_compat: true } },
      );
      for (const over of [overJson, overBinary, overProtoJson])
        expect(plain(over(given))).toEqual(plain(given));
    }
  });
});

const config = fc
  .record({
    taskId: fc.uuid(),
    id: fc.uuid(),
    url: fc.webUrl(),
    token: text,
    authentication: fc.option(fc.record({ scheme: words, credentials: text }), { nil: undefined }),
  })
  .map((init) => create(TaskPushNotificationConfigSchema, init));

describe('A push config that goes through 0.3 and back', () => {
  it('is what it was', () => {
    fc.assert(
      fc.property(config, (given) => {
        const written = JSON.parse(jsonText(pushConfigJson(given))) as JsonObject;
        const request = create(pb.CreateTaskPushNotificationConfigRequestSchema, {
          parent: `tasks/${given.taskId}`,
          config: pushConfigProto(given),
        });

        expect(readPushConfigParams(written)).toEqual(given);
        expect(readCreateConfigRequest(request)).toEqual(given);
      }),
    );
  });
});

/** What a client of 0.3 reads is read here by the tests' own words, not by the service's. */
describe('A task that goes out in 0.3', () => {
  const back = (json: Json) => toJson(TaskSchema, fromJson(TaskSchema, json));
  const overJsonRpc = (given: Task) => taskFrom(kindForm, JSON.parse(taskBody(given)));
  const overProto = (given: Task) =>
    taskFrom(
      protoForm,
      toJson(pb.TaskSchema, fromBinary(pb.TaskSchema, toBinary(pb.TaskSchema, taskProto(given)))) as Json,
    );

  it.each([
    ['JSON-RPC', overJsonRpc],
    ['gRPC and HTTP+JSON', overProto],
  ])('is whole, over %s: every state, metadata, extensions, references (B114, S002-177)', (_, over) => {
    fc.assert(
      fc.property(task, (given) => {
        expect(back(over(given))).toEqual(toJson(TaskSchema, given));
      }),
      { numRuns: 100 },
    );
  });
});

describe('An event that goes out in 0.3', () => {
  const back = (json: Json) => toJson(StreamResponseSchema, fromJson(StreamResponseSchema, json));
  const overJsonRpc = (given: StreamResponse) =>
    frameFrom(kindForm, byKind(JSON.parse(jsonText(eventJson(given)))));
  const overProto = (given: StreamResponse) =>
    frameFrom(protoForm, JSON.parse(encodeMessageText(pb.StreamResponseSchema, eventProto(given))));

  it.each([
    ['JSON-RPC', overJsonRpc],
    ['gRPC and HTTP+JSON', overProto],
  ])('is whole, over %s, and final where its state is (B114, S002-172)', (_, over) => {
    fc.assert(
      fc.property(event, (given) => {
        expect(back(over(given))).toEqual(toJson(StreamResponseSchema, given));
      }),
      { numRuns: 100 },
    );
  });
});
