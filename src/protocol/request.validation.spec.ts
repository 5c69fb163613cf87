import {
  create,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type MessageInitShape,
} from '@bufbuild/protobuf';
import { ValueSchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import {
  A2AError,
  decodeMessage,
  encodeMessage,
  MessageSchema,
  OPERATION_NAMES,
  OPERATIONS,
  type OperationName,
  type RequestOf,
  Role,
  SendMessageRequestSchema,
  StreamResponseSchema,
  sanitiseAgentOutput,
  validateRequest,
} from './index.js';

/** Fields refused, or an empty list. */
function refused<O extends OperationName>(operation: O, request: RequestOf<O>, most?: number): string[] {
  try {
    validateRequest(operation, request, most);
    return [];
  } catch (error) {
    if (!(error instanceof A2AError) || error.kind !== 'invalidParams') throw error;
    return error.violations.map(({ field }) => field);
  }
}

function refusedJson<O extends OperationName>(operation: O, json: JsonValue): string[] {
  return refused(operation, decodeMessage(OPERATIONS[operation].input, json) as RequestOf<O>);
}

const part = { text: 'hi' };
const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [part] };
const sent = (change: Record<string, JsonValue>): string[] =>
  refusedJson('sendMessage', { message: { ...message, ...change } });
const nested = (levels: number): JsonValue => (levels > 0 ? { a: nested(levels - 1) } : 1);
const nestedList = (levels: number): JsonValue => (levels > 0 ? [nestedList(levels - 1)] : 1);
const config = { url: 'https://example.org/hook' };

describe('validateRequest', () => {
  it.each<[OperationName, JsonValue]>([
    ['sendMessage', { message }],
    [
      'sendStreamingMessage',
      { message: { ...message, contextId: 'c', taskId: 't', referenceTaskIds: ['x'] } },
    ],
    ['sendMessage', { message, configuration: { historyLength: 0, taskPushNotificationConfig: config } }],
    ['getTask', { id: 't', historyLength: 9999 }],
    ['listTasks', {}],
    ['listTasks', { status: 'TASK_STATE_UNSPECIFIED', pageSize: 100, historyLength: 0 }],
    ['listTasks', { statusTimestampAfter: '9999-12-31T23:59:59.999Z', contextId: 'c' }],
    ['cancelTask', { id: 't', metadata: { why: ['because', 1, null] } }],
    ['subscribeToTask', { id: 't' }],
    ['createTaskPushNotificationConfig', { ...config, taskId: 't' }],
    ['getTaskPushNotificationConfig', { taskId: 't', id: 'c' }],
    ['listTaskPushNotificationConfigs', { taskId: 't', pageSize: 0 }],
    ['deleteTaskPushNotificationConfig', { taskId: 't', id: 'c' }],
    ['getExtendedAgentCard', {}],
  ])('lets a good %s pass', (operation, json) => {
    expect(refusedJson(operation, json)).toEqual([]);
  });

  it('names every REQUIRED field of each operation when its request is empty', () => {
    const missing = Object.fromEntries(
      OPERATION_NAMES.map((operation) => [operation, refusedJson(operation, {})]),
    );
    expect(missing).toEqual({
      sendMessage: ['message'],
      sendStreamingMessage: ['message'],
      getTask: ['id'],
      listTasks: [],
      cancelTask: ['id'],
      subscribeToTask: ['id'],
      createTaskPushNotificationConfig: ['taskId', 'url'],
      getTaskPushNotificationConfig: ['taskId', 'id'],
      listTaskPushNotificationConfigs: ['taskId'],
      getExtendedAgentCard: [],
      deleteTaskPushNotificationConfig: ['taskId', 'id'],
    });
  });

  it('names all REQUIRED fields that a message lacks, and says how many there are', () => {
    const request = create(SendMessageRequestSchema, { message: {} });
    expect(refused('sendMessage', request)).toEqual(['message.messageId', 'message.role', 'message.parts']);
    expect(() => validateRequest('sendMessage', request)).toThrow(
      'message.messageId: is required (and 2 more)',
    );
  });

  it('checks REQUIRED fields of nested messages only where those are given', () => {
    const nested = (taskPushNotificationConfig: JsonValue) =>
      refusedJson('sendMessage', { message, configuration: { taskPushNotificationConfig } });
    expect(nested({ ...config, authentication: {} })).toEqual([
      'configuration.taskPushNotificationConfig.authentication.scheme',
    ]);
    expect(nested({})).toEqual(['configuration.taskPushNotificationConfig.url']);
    expect(refusedJson('sendMessage', { message, configuration: {} })).toEqual([]);
  });

  it.each([['ROLE_AGENT'], ['ROLE_UNSPECIFIED'], [7]])('refuses a message with role %j', (role) => {
    expect(sent({ role })).toEqual(['message.role']);
  });

  it('refuses a part without content by its index', () => {
    expect(sent({ parts: [part, { mediaType: 'text/plain' }, { text: '' }] })).toEqual(['message.parts[1]']);
    expect(sent({ parts: [] })).toEqual(['message.parts']);
  });

  it.each([['a b'], ['ä'], ['a\nb'], ['\u007f'], ['x'.repeat(201)]])('refuses the client id %j', (id) => {
    expect(sent({ messageId: id, contextId: id })).toEqual(['message.messageId', 'message.contextId']);
    expect(refusedJson('createTaskPushNotificationConfig', { ...config, taskId: 't', id })).toEqual(['id']);
    const configuration = { taskPushNotificationConfig: { ...config, id } };
    expect(refusedJson('sendMessage', { message, configuration })).toEqual([
      'configuration.taskPushNotificationConfig.id',
    ]);
  });

  it('takes client ids of 200 visible characters', () => {
    expect(sent({ messageId: '!~'.repeat(100), contextId: 'x' })).toEqual([]);
  });

  it.each([
    ['getTask', { id: 't', historyLength: -1 }, 'historyLength'],
    ['listTasks', { historyLength: -5 }, 'historyLength'],
    ['sendMessage', { message, configuration: { historyLength: -1 } }, 'configuration.historyLength'],
    ['listTasks', { pageSize: 0 }, 'pageSize'],
    ['listTasks', { pageSize: 101 }, 'pageSize'],
    ['listTasks', { pageSize: -1 }, 'pageSize'],
    ['listTaskPushNotificationConfigs', { taskId: 't', pageSize: -1 }, 'pageSize'],
    ['listTasks', { status: 99 }, 'status'],
  ] as [OperationName, JsonValue, string][])('refuses %s %j', (operation, json, field) => {
    expect(refusedJson(operation, json)).toEqual([field]);
  });

  it('refuses a binary time that JSON could not write', () => {
    const request = create(OPERATIONS.listTasks.input, {
      statusTimestampAfter: { seconds: 253_402_300_800n },
    });
    expect(refused('listTasks', request)).toEqual(['statusTimestampAfter']);
  });

  it.each<[string, Record<string, JsonValue>]>([
    ['message.parts[0].text', { parts: [{ text: 'a\0b' }] }],
    ['message.parts[0].filename', { parts: [{ text: 'a', filename: '\0' }] }],
    ['message.parts[0].data', { parts: [{ data: { a: [{ b: 'x\0' }] } }] }],
    ['message.parts[0].data', { parts: [{ data: { 'k\0': 1 } }] }],
    ['message.parts[1].metadata', { parts: [part, { text: 'a', metadata: { a: ['\0'] } }] }],
    ['message.metadata', { metadata: { a: { '\0': 1 } } }],
    ['message.extensions[1]', { extensions: ['a', '\0'] }],
    ['message.referenceTaskIds[0]', { referenceTaskIds: ['\0'] }],
    ['message.taskId', { taskId: '\0' }],
  ])('refuses U+0000 in %s', (field, change) => {
    expect(sent(change)).toEqual([field]);
  });

  it('refuses U+0000 in ids, tokens and request metadata too', () => {
    expect(refusedJson('getTask', { id: 't\0', tenant: '\0' })).toEqual(['tenant', 'id']);
    expect(refusedJson('cancelTask', { id: 't', metadata: { a: '\0' } })).toEqual(['metadata']);
    expect(sent({ messageId: '\0', contextId: 'a\0' })).toContain('message.contextId');
  });

  it.each([[Number.NaN], [Number.POSITIVE_INFINITY]])('refuses %d in a Struct and in a Value', (value) => {
    const request = create(SendMessageRequestSchema, {
      message: {
        messageId: 'm',
        role: Role.USER,
        parts: [
          { content: { case: 'data', value: { kind: { case: 'numberValue', value } } }, metadata: { value } },
        ],
      },
      metadata: { deep: [{ value }] },
    });
    expect(refused('sendMessage', request)).toEqual([
      'message.parts[0].data',
      'message.parts[0].metadata',
      'metadata',
    ]);
  });

  it('refuses a number too large for a double, which JSON can write', () => {
    expect(sent({ parts: [{ data: JSON.parse('[1e999]') as JsonValue }] })).toEqual([
      'message.parts[0].data',
    ]);
  });

  it('replaces lone surrogates in place and keeps pairs', () => {
    const request = create(SendMessageRequestSchema, {
      message: {
        messageId: 'm',
        role: Role.USER,
        parts: [{ content: { case: 'text', value: 'a\ud800😀' }, metadata: { '\udc00': ['\ud800'] } }],
      },
    });
    expect(refused('sendMessage', request)).toEqual([]);
    expect(encodeMessage(MessageSchema, request.message!).parts).toEqual([
      { text: 'a\ufffd😀', metadata: { '\ufffd': ['\ufffd'] } },
    ]);
  });

  it('reads a Value without a kind as null', () => {
    const content = { case: 'data', value: create(ValueSchema) } as const;
    const request = create(SendMessageRequestSchema, {
      message: { messageId: 'm', role: Role.USER, parts: [{ content }] },
    });
    expect(refused('sendMessage', request)).toEqual([]);
    expect(content.value.kind.case).toBe('nullValue');
  });

  it('meets no map, which the walk leaves out, in a request or in what an agent says', () => {
    const seen = new Set<DescMessage>();
    const maps: string[] = [];
    const look = (desc: DescMessage): void => {
      if (seen.has(desc) || desc.typeName.startsWith('google.')) return;
      seen.add(desc);
      for (const field of desc.fields) {
        if (field.fieldKind === 'map') maps.push(String(field));
        else if (field.message) look(field.message);
      }
    };
    for (const { input } of Object.values(OPERATIONS)) look(input);
    look(StreamResponseSchema);
    expect(seen.size).toBeGreaterThan(15);
    expect(maps).toEqual([]);
  });

  it('refuses, by the field, data that nests deeper than readers of protobuf go', () => {
    for (const container of [nested, nestedList]) {
      const data = (levels: number) => sent({ parts: [{ data: container(levels) }] });
      expect(data(30)).toEqual([]);
      expect(data(31)).toEqual(['message.parts[0].data']);
    }
    const metadata = (levels: number) => sent({ metadata: { 'a\ud800': 1, deep: nested(levels) } });
    expect(metadata(29)).toEqual([]);
    expect(metadata(30)).toEqual(['message.metadata']);
  });

  it('counts the values in all data and metadata of a request, and names the field with one too many', () => {
    const refusedAt = (most: number) => {
      const json = { message: { ...message, parts: [{ data: [1, { a: null }] }], metadata: { b: [2] } } };
      const request = decodeMessage(SendMessageRequestSchema, json);
      return refused('sendMessage', request, most);
    };
    expect(refusedAt(7)).toEqual([]);
    expect(refusedAt(6)).toEqual(['message.metadata']);
    expect(refusedAt(3)).toEqual(['message.parts[0].data']);
  });

  it('stops at twenty violations', () => {
    expect(sent({ parts: Array.from({ length: 500 }, () => ({})) })).toHaveLength(20);
  });
});

describe('sanitiseAgentOutput', () => {
  const sanitised = (payload: MessageInitShape<typeof StreamResponseSchema>['payload']): JsonValue => {
    const response = create(StreamResponseSchema, { payload });
    sanitiseAgentOutput(response);
    return encodeMessage(StreamResponseSchema, response);
  };

  it('replaces U+0000 and lone surrogates wherever they stand', () => {
    const json = sanitised({
      case: 'artifactUpdate',
      value: {
        taskId: 't',
        contextId: 'c',
        artifact: {
          artifactId: 'a\0',
          name: '\ud800',
          parts: [
            {
              content: { case: 'text', value: 'u\0t\0f\0' },
              filename: 'x\0',
              metadata: { 'k\0': { v: ['\0'] } },
            },
          ],
          extensions: ['e\0'],
        },
        metadata: { '\udc00': '\udc00' },
      },
    });
    expect(json).toEqual({
      artifactUpdate: {
        taskId: 't',
        contextId: 'c',
        artifact: {
          artifactId: 'a\ufffd',
          name: '\ufffd',
          parts: [
            {
              text: 'u\ufffdt\ufffdf\ufffd',
              filename: 'x\ufffd',
              metadata: { 'k\ufffd': { v: ['\ufffd'] } },
            },
          ],
          extensions: ['e\ufffd'],
        },
        metadata: { '\ufffd': '\ufffd' },
      },
    });
  });

  it('makes null of numbers that JSON cannot hold and of empty Values', () => {
    const listValue = {
      values: [
        { kind: { case: 'numberValue', value: Number.NaN } as const },
        {},
        { kind: { case: 'numberValue', value: 1 } as const },
      ],
    };
    const json = sanitised({
      case: 'message',
      value: {
        messageId: 'm',
        role: Role.AGENT,
        parts: [{ content: { case: 'data', value: { kind: { case: 'listValue', value: listValue } } } }],
        metadata: { ratio: Number.NEGATIVE_INFINITY, fine: 0.5 },
      },
    });
    expect(json).toMatchObject({
      message: { parts: [{ data: [null, null, 1] }], metadata: { ratio: null, fine: 0.5 } },
    });
  });

  it('refuses nothing that a request would be refused for', () => {
    expect(sanitised({ case: 'message', value: {} })).toEqual({ message: { messageId: '', parts: [] } });
    expect(sanitised(undefined)).toEqual({});
  });

  it('refuses what nests deeper than readers of protobuf go, and says where', () => {
    const said = (levels: number) =>
      sanitised({ case: 'task', value: { id: 't', metadata: nested(levels) as JsonObject } });
    expect(said(30)).toMatchObject({ task: { id: 't' } });
    expect(() => said(31)).toThrow(/^task\.metadata nests deeper than 30 levels$/);
  });

  it('leaves frozen metadata of the agent alone', () => {
    const metadata = Object.freeze({ a: 'x\0' });
    expect(sanitised({ case: 'task', value: { id: 't', metadata } })).toEqual({
      task: { id: 't', metadata: { a: 'x\ufffd' } },
    });
    expect(metadata.a).toBe('x\0');
  });
});
