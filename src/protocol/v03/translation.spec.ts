import { create, fromBinary, type JsonObject, type JsonValue, toBinary, toJson } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { Role, StreamResponseSchema, TaskSchema, TaskState } from '../gen/a2a_pb.js';
import * as pb from '../gen/a2a_v03_pb.js';
import { encodeMessageText } from '../json.codec.js';
import { readSendParams } from './json.reader.js';
import { eventJson, jsonText, taskBody, taskJson } from './json.writer.js';
import { readSendRequest } from './proto.reader.js';
import { eventProto, taskProto } from './proto.writer.js';

const STATES = [
  [TaskState.SUBMITTED, 'submitted', 'TASK_STATE_SUBMITTED', false],
  [TaskState.WORKING, 'working', 'TASK_STATE_WORKING', false],
  [TaskState.INPUT_REQUIRED, 'input-required', 'TASK_STATE_INPUT_REQUIRED', true],
  [TaskState.AUTH_REQUIRED, 'auth-required', 'TASK_STATE_AUTH_REQUIRED', true],
  [TaskState.COMPLETED, 'completed', 'TASK_STATE_COMPLETED', true],
  [TaskState.CANCELED, 'canceled', 'TASK_STATE_CANCELLED', true],
  [TaskState.FAILED, 'failed', 'TASK_STATE_FAILED', true],
  [TaskState.REJECTED, 'rejected', 'TASK_STATE_REJECTED', true],
] as const;

describe('A status in 0.3', () => {
  it.each(STATES)('%s is "%s" in JSON, %s in ProtoJSON, final: %s (S002-172, S002-177)', (...given) => {
    const [state, name, protoName, final] = given;
    const value = { taskId: 't', contextId: 'c', status: { state } };
    const event = create(StreamResponseSchema, { payload: { case: 'statusUpdate', value } });

    expect(JSON.parse(jsonText(eventJson(event)))).toEqual({
      kind: 'status-update',
      taskId: 't',
      contextId: 'c',
      status: { state: name },
      final,
    });
    expect(JSON.parse(encodeMessageText(pb.StreamResponseSchema, eventProto(event)))).toEqual({
      statusUpdate: { taskId: 't', contextId: 'c', status: { state: protoName }, ...(final && { final }) },
    });
  });
});

describe('A task in 0.3', () => {
  const said = {
    messageId: 'm',
    role: Role.AGENT,
    parts: [{ content: { case: 'text', value: 'hi' } as const }],
  };
  const task = create(TaskSchema, {
    id: 't',
    contextId: 'c',
    status: { state: TaskState.WORKING, message: said, timestamp: timestampFromMs(1_767_323_045_006) },
    artifacts: [
      {
        artifactId: 'a',
        name: 'n',
        description: 'd',
        parts: said.parts,
        metadata: { x: [1] },
        extensions: ['urn:e'],
      },
    ],
    history: [{ ...said, role: Role.USER, taskId: 't', contextId: 'c' }],
    metadata: { y: null },
  });

  it('has a kind on every object and lower-case words (S002-172)', () => {
    const parts = [{ kind: 'text', text: 'hi' }];
    const expected = {
      kind: 'task',
      id: 't',
      contextId: 'c',
      status: {
        state: 'working',
        message: { kind: 'message', messageId: 'm', role: 'agent', parts },
        timestamp: '2026-01-02T03:04:05.006Z',
      },
      artifacts: [
        { artifactId: 'a', name: 'n', description: 'd', parts, metadata: { x: [1] }, extensions: ['urn:e'] },
      ],
      history: [{ kind: 'message', messageId: 'm', role: 'user', taskId: 't', contextId: 'c', parts }],
      metadata: { y: null },
    };
    expect(JSON.parse(jsonText(taskJson(task)))).toEqual(expected);
    expect(JSON.parse(taskBody(task))).toEqual(expected);
  });

  it('leaves out what is empty', () => {
    const bare = create(TaskSchema, { id: 't', contextId: 'c', status: { state: TaskState.SUBMITTED } });
    expect(taskBody(bare)).toBe('{"kind":"task","id":"t","contextId":"c","status":{"state":"submitted"}}');
  });

  it('has the numbers of a2a.v1 on the wire', () => {
    const read = fromBinary(pb.TaskSchema, toBinary(pb.TaskSchema, taskProto(task)));
    expect(toJson(pb.TaskSchema, read)).toEqual({
      id: 't',
      contextId: 'c',
      status: {
        state: 'TASK_STATE_WORKING',
        message: { messageId: 'm', role: 'ROLE_AGENT', content: [{ text: 'hi' }] },
        timestamp: '2026-01-02T03:04:05.006Z',
      },
      artifacts: [
        {
          artifactId: 'a',
          name: 'n',
          description: 'd',
          parts: [{ text: 'hi' }],
          metadata: { x: [1] },
          extensions: ['urn:e'],
        },
      ],
      history: [
        { messageId: 'm', role: 'ROLE_USER', taskId: 't', contextId: 'c', content: [{ text: 'hi' }] },
      ],
      metadata: { y: null },
    });
  });

  it('never breaks a line that SSE carries', () => {
    const metadata = { 'a\u2028b': 'c\u2029d\ne' };
    expect(jsonText(taskJson({ ...task, metadata }))).not.toMatch(/[\n\u2028\u2029]/);
  });
});

const PARTS = { role: 'user', messageId: 'm', parts: [{ kind: 'text', text: 'hi' }] };

describe('The params of 0.3', () => {
  it.each([
    [undefined, false],
    [{}, false],
    [{ blocking: true }, false],
    [{ blocking: false }, true],
    [{ returnImmediately: true }, true],
    [{ returnImmediately: true, blocking: true }, false],
    [{ blocking: null }, false],
  ])('wait unless they say otherwise: %j (S002-174)', (configuration, immediately) => {
    const params = { message: PARTS, ...(configuration && { configuration }) };
    expect(readSendParams(params).configuration?.returnImmediately ?? false).toBe(immediately);
  });

  it.each<[string, JsonValue]>([
    ['message', { message: 'hello' }],
    ['message.role', { message: { ...PARTS, role: 'tool' } }],
    ['message.parts', { message: { ...PARTS, parts: {} } }],
    ['message.parts[0].kind', { message: { ...PARTS, parts: [{ kind: 'video' }] } }],
    ['message.parts[0].kind', { message: { ...PARTS, parts: [{}] } }],
    ['message.parts[0].text', { message: { ...PARTS, parts: [{ kind: 'text', text: 1 }] } }],
    ['message.parts[1].file', { message: { ...PARTS, parts: [...PARTS.parts, { kind: 'file' }] } }],
    ['message.parts[0].file', { message: { ...PARTS, parts: [{ kind: 'file', file: { name: 'x' } }] } }],
    [
      'message.parts[0].file',
      { message: { ...PARTS, parts: [{ kind: 'file', file: { uri: 'https://x', bytes: 'AA==' } }] } },
    ],
    ['message.parts[0].raw', { message: { ...PARTS, parts: [{ kind: 'file', file: { bytes: '!' } }] } }],
    ['message.parts[0].data', { message: { ...PARTS, parts: [{ kind: 'data', data: [1] }] } }],
    ['configuration.blocking', { message: PARTS, configuration: { blocking: 'no' } }],
    [
      'configuration.pushNotificationConfig.authentication.schemes',
      {
        message: PARTS,
        configuration: {
          pushNotificationConfig: { url: 'https://x', authentication: { schemes: 'Bearer' } },
        },
      },
    ],
  ])('are refused with the path of the field: %s (B114)', (field, params) => {
    const { kind, violations } = thrownBy(() => readSendParams(params as JsonObject));
    expect(kind).toBe('invalidParams');
    expect(violations[0]?.field).toBe(field);
  });

  it('take parts without a kind by what they hold', () => {
    const { message } = readSendParams({ message: { ...PARTS, parts: [{ text: 'hi' }] } });
    expect(message?.parts[0]?.content).toEqual({ case: 'text', value: 'hi' });
  });
});

function thrownBy(run: () => unknown): { kind: string; violations: { field: string }[] } {
  try {
    run();
  } catch (error) {
    return error as { kind: string; violations: { field: string }[] };
  }
  throw new Error('nothing was thrown');
}

it('A request of a2a.v1 waits unless its configuration says that it need not (S002-174)', () => {
  const request = { messageId: 'm' };
  const read = (configuration?: { blocking: boolean }) =>
    readSendRequest(create(pb.SendMessageRequestSchema, { request, configuration })).configuration;
  expect(read()).toBeUndefined();
  expect(read({ blocking: true })?.returnImmediately).toBe(false);
  expect(read({ blocking: false })?.returnImmediately).toBe(true);
});
