import { create, fromBinary, type JsonValue, toBinary } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  A2AError,
  AgentCardSchema,
  decodeMessage,
  encodeMessage,
  encodeMessageText,
  ListTasksRequestSchema,
  ListTasksResponseSchema,
  MessageSchema,
  PartSchema,
  parseJson,
  Role,
  SendMessageConfigurationSchema,
  SendMessageRequestSchema,
  StreamResponseSchema,
  TaskSchema,
  TaskState,
} from './index.js';

const parse = (text: string, maxDepth = 100): JsonValue => parseJson(Buffer.from(text), { maxDepth });

function failureOf(act: () => unknown): A2AError {
  try {
    act();
  } catch (error) {
    if (error instanceof A2AError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

/** The path of the field that a refused request names. */
const fieldRefused = (act: () => unknown): string | undefined => failureOf(act).violations[0]?.field;

describe('parseJson', () => {
  it.each(['', '{', '{"a":}', "{'a':1}", '[1,]', 'undefined', '\u{feff}{', 'NaN'])(
    'refuses %j as a parse error',
    (text) => {
      expect(failureOf(() => parse(text)).kind).toBe('parseError');
    },
  );

  it.each([
    ['a stray continuation byte', [0x22, 0x80, 0x22]],
    ['an overlong form', [0x22, 0xc0, 0xaf, 0x22]],
    ['a surrogate as three bytes', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['a cut sequence', [0x22, 0xe2, 0x82]],
  ])('refuses UTF-8 with %s as a parse error', (_, bytes) => {
    expect(failureOf(() => parseJson(Uint8Array.from(bytes), { maxDepth: 9 })).kind).toBe('parseError');
  });

  it('takes JSON that is as deep as allowed and refuses one level more, naming the limit', () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    expect(parse(nested(100))).toBeInstanceOf(Array);
    const failure = failureOf(() => parse(nested(101)));
    expect(failure.kind).toBe('invalidParams');
    expect(failure.message).toContain('100');
  });

  it('takes as many values as allowed and refuses one more, whether members, items or empty ones', () => {
    const limits = { maxDepth: 9, maxValues: 4 };
    for (const text of ['[1,2,3]', '{"a":1,"b":2,"c":",,,"}', '[[],3]', '{"a":[1,2]}']) {
      expect(parseJson(Buffer.from(text), limits)).toEqual(JSON.parse(text));
    }
    for (const text of ['[1,2,3,4]', '{"a":1,"b":2,"c":3,"d":4}', '[[],[],[],[]]', '[[[[1]]]]']) {
      const failure = failureOf(() => parseJson(Buffer.from(text), limits));
      expect(failure.kind).toBe('invalidParams');
      expect(failure.message).toContain('more than 4 values');
    }
  });

  it('counts no brackets inside strings', () => {
    expect(parse('{"a":"[[[[\\"[[[\\\\"}', 1)).toEqual({ a: '[[[["[[[\\' });
  });

  it('refuses ten megabytes of brackets without parsing them', () => {
    const before = process.memoryUsage().rss;
    const body = Buffer.alloc(10 * 2 ** 20, '[');
    expect(failureOf(() => parseJson(body, { maxDepth: 100 })).kind).toBe('invalidParams');
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 2 ** 20);
  });

  it.each([
    ['"\\ud800"', '\ufffd'],
    ['"a\\uDC00b"', 'a\ufffdb'],
    ['"\\ud83d\\ude00"', '😀'],
    ['"\\ud83d\\ud83d\\ude00"', '\ufffd😀'],
    ['"\\\\ud800"', '\\ud800'],
    ['"\\\\\\ud800"', '\\\ufffd'],
    ['{"\\udfff":1}', { '\ufffd': 1 }],
  ])('reads %s with lone surrogates replaced', (text, value) => {
    expect(parse(text)).toEqual(value);
  });

  it('reads __proto__ as an ordinary key', () => {
    const json = parse('{"message":{"metadata":{"__proto__":{"polluted":true},"constructor":1}}}');
    const request = decodeMessage(SendMessageRequestSchema, json);
    expect(Object.keys(request.message!.metadata!)).toEqual(['__proto__', 'constructor']);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(encodeMessageText(SendMessageRequestSchema, request)).toContain('"__proto__":{"polluted":true}');
  });
});

describe('decodeMessage', () => {
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] };

  it('reads snake_case names, enum numbers, unknown fields and a stray kind as 1.0 wants it', () => {
    const request = decodeMessage(SendMessageRequestSchema, {
      message: {
        kind: 'message',
        message_id: 'm',
        role: 1,
        context_id: 'c',
        parts: [{ text: 'hi', unknownX: 1, kind: 'text' }],
      },
      configuration: { history_length: 0, accepted_output_modes: ['text/plain'] },
      somethingNew: {},
    });
    expect(encodeMessage(SendMessageRequestSchema, request)).toEqual({
      message: { ...message, contextId: 'c' },
      configuration: { historyLength: 0, acceptedOutputModes: ['text/plain'] },
    });
  });

  it('takes null for unset in every field of a message, a list and a oneof', () => {
    const nulls = (desc: { fields: { jsonName: string }[] }) =>
      Object.fromEntries(desc.fields.map(({ jsonName }) => [jsonName, null]));
    expect(
      encodeMessage(
        ListTasksRequestSchema,
        decodeMessage(ListTasksRequestSchema, nulls(ListTasksRequestSchema)),
      ),
    ).toEqual({});
    expect(decodeMessage(TaskSchema, nulls(TaskSchema))).toEqual(create(TaskSchema));
    const part = decodeMessage(PartSchema, { ...nulls(PartSchema), text: 'a' });
    expect(part).toEqual(create(PartSchema, { content: { case: 'text', value: 'a' } }));
    const event = decodeMessage(StreamResponseSchema, { ...nulls(StreamResponseSchema), message });
    expect(event.payload.case).toBe('message');
  });

  it('knows an unset historyLength from 0', () => {
    const read = (json: JsonValue) => decodeMessage(SendMessageConfigurationSchema, json).historyLength;
    expect([read({}), read({ historyLength: 0 }), read({ historyLength: 5 })]).toEqual([undefined, 0, 5]);
  });

  it.each([
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02T03:04:05.678901+02:00', '2026-01-02T01:04:05.678Z'],
    ['2026-01-02T03:04:05.1Z', '2026-01-02T03:04:05.100Z'],
    ['2026-01-02T03:04:05.123456789Z', '2026-01-02T03:04:05.123Z'],
  ])('reads the time %s and writes it in UTC with milliseconds', (given, written) => {
    const request = decodeMessage(ListTasksRequestSchema, { statusTimestampAfter: given });
    expect(encodeMessage(ListTasksRequestSchema, request)).toEqual({ statusTimestampAfter: written });
  });

  const send = (json: JsonValue) => () => decodeMessage(SendMessageRequestSchema, json);
  const list = (json: JsonValue) => () => decodeMessage(ListTasksRequestSchema, json);

  it.each<[string, () => unknown]>([
    ['message.messageId', send({ message: { messageId: 1 } })],
    ['message.role', send({ message: { role: 'user' } })],
    ['message.role', send({ message: { role: 'RUNNING' } })],
    ['message.role', send({ message: { role: 1.5 } })],
    ['message.role', send({ message: { role: true } })],
    ['message', send({ message: 'hi' })],
    ['message', send({ message: [] })],
    ['message.parts', send({ message: { parts: {} } })],
    ['message.parts[1]', send({ message: { parts: [{ text: 'a' }, null] } })],
    ['message.parts[1].text', send({ message: { parts: [{ text: 'a' }, { text: { a: 1 } }] } })],
    ['message.parts[0].raw', send({ message: { parts: [{ raw: '!!!' }] } })],
    ['message.parts[0].metadata', send({ message: { parts: [{ text: 'a', metadata: [] }] } })],
    ['message.extensions[1]', send({ message: { extensions: ['a', 2] } })],
    ['metadata', send({ metadata: 'x' })],
    ['configuration.historyLength', send({ configuration: { historyLength: 1.5 } })],
    ['configuration.historyLength', send({ configuration: { history_length: 'many' } })],
    ['configuration.returnImmediately', send({ configuration: { returnImmediately: 'yes' } })],
    ['status', list({ status: 'RUNNING' })],
    ['pageSize', list({ pageSize: 2 ** 40 })],
    ['statusTimestampAfter', list({ statusTimestampAfter: 'yesterday' })],
    ['statusTimestampAfter', list({ statusTimestampAfter: 1700000000 })],
    [
      'securitySchemes.a.apiKeySecurityScheme.name',
      () => decodeMessage(AgentCardSchema, { securitySchemes: { a: { apiKeySecurityScheme: { name: 1 } } } }),
    ],
  ])('names %s when it does not fit', (field, act) => {
    expect(failureOf(act).kind).toBe('invalidParams');
    expect(fieldRefused(act)).toBe(field);
  });

  it('puts the path of the value before that of the field', () => {
    expect(fieldRefused(() => decodeMessage(MessageSchema, { messageId: 1 }, 'params.message'))).toBe(
      'params.message.messageId',
    );
  });

  it.each([[null], [[]], ['text'], [1]])('refuses %j as a request', (json) => {
    expect(failureOf(send(json as JsonValue)).message).toBe('The request must be an object');
  });

  it('cuts a long value that it repeats', () => {
    expect(failureOf(send({ message: { role: 'x'.repeat(9000) } })).message.length).toBeLessThan(300);
  });

  it.each<[string, JsonValue, unknown]>([
    ['an empty text beside data', { text: '', data: { k: 1 } }, { data: { k: 1 } }],
    ['empty strings beside a url', { text: '', raw: '', url: 'https://x' }, { url: 'https://x' }],
    ['null beside text', { text: 'a', raw: null, url: null, data: null }, { text: 'a' }],
    ['null beside an empty text', { text: '', data: null }, { text: '' }],
    ['an empty text alone', { text: '' }, { text: '' }],
    ['data null alone', { data: null }, { data: null }],
  ])('reads a part with %s', (_, json, written) => {
    expect(encodeMessage(PartSchema, decodeMessage(PartSchema, json))).toEqual(written);
  });

  it.each<[JsonValue]>([
    [{ text: 'a', data: {} }],
    [{ text: 'a', url: 'b' }],
    [{ text: '', url: '' }],
    [{ raw: 'AA==', data: 0 }],
  ])('refuses the part %j for its two contents', (part) => {
    expect(fieldRefused(send({ message: { parts: [{ text: 'ok' }, part] } }))).toBe('message.parts[1]');
  });

  it('leaves the JSON it is given alone', () => {
    const json = Object.freeze({
      parts: Object.freeze([Object.freeze({ text: '', data: 1 })]),
    }) as unknown as JsonValue;
    expect(decodeMessage(MessageSchema, json).parts[0]!.content.case).toBe('data');
  });

  it('reads all byte values in standard, URL-safe and unpadded base64 and writes the standard form', () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => 255 - i);
    const standard = Buffer.from(bytes).toString('base64');
    for (const raw of [standard, standard.replace(/=+$/, ''), Buffer.from(bytes).toString('base64url')]) {
      const part = decodeMessage(PartSchema, { raw });
      expect(part.content.value).toEqual(bytes);
      expect(encodeMessage(PartSchema, part)).toEqual({ raw: standard });
    }
  });
});

describe('encodeMessage', () => {
  it('writes REQUIRED lists also when empty, and nothing else that is not set', () => {
    expect(encodeMessage(TaskSchema, create(TaskSchema, { id: 't' }))).toEqual({ id: 't' });
    expect(encodeMessage(MessageSchema, create(MessageSchema, { messageId: 'm', role: Role.AGENT }))).toEqual(
      {
        messageId: 'm',
        role: 'ROLE_AGENT',
        parts: [],
      },
    );
  });

  it('writes all four fields of an empty ListTasksResponse', () => {
    expect(encodeMessageText(ListTasksResponseSchema, create(ListTasksResponseSchema))).toBe(
      '{"tasks":[],"nextPageToken":"","pageSize":0,"totalSize":0}',
    );
  });

  it('writes empty artifacts of a task only where asked', () => {
    const page = create(ListTasksResponseSchema, { tasks: [{ id: 't' }] });
    expect(encodeMessage(ListTasksResponseSchema, page).tasks).toEqual([{ id: 't' }]);
    expect(encodeMessage(ListTasksResponseSchema, page, { emptyArtifacts: true }).tasks).toEqual([
      { id: 't', artifacts: [] },
    ]);
  });

  it('never writes an unspecified enum', () => {
    expect(encodeMessageText(TaskSchema, create(TaskSchema, { status: {} }))).toBe('{"id":"","status":{}}');
  });

  it('writes every task state by its name', () => {
    const names = Object.values(TaskState)
      .filter((state) => typeof state === 'number' && state > 0)
      .map(
        (state) =>
          encodeMessage(TaskSchema, create(TaskSchema, { status: { state: state as TaskState } })).status,
      );
    expect(names).toHaveLength(8);
    expect(names).toContainEqual({ state: 'TASK_STATE_INPUT_REQUIRED' });
  });

  it('writes a time of whole seconds with milliseconds', () => {
    const timestamp = timestampFromDate(new Date('2026-01-02T03:04:05Z'));
    const task = create(TaskSchema, { id: 't', status: { state: TaskState.WORKING, timestamp } });
    expect(encodeMessage(TaskSchema, task).status).toEqual({
      state: 'TASK_STATE_WORKING',
      timestamp: '2026-01-02T03:04:05.000Z',
    });
  });

  it('writes text as UTF-8, unescaped but for what JSON and SSE lines need', () => {
    const text = '<a & b> 日本語 😀 \u2028\u2029 "\\\n\u0007';
    const part = create(PartSchema, {
      content: { case: 'text', value: text },
      metadata: { '\u2028': '\u2029😀' },
    });
    const json = encodeMessageText(PartSchema, part);
    expect(json).toContain('<a & b> 日本語 😀 \\u2028\\u2029 \\"\\\\\\n\\u0007');
    expect(json).not.toMatch(/[\n\r\u2028\u2029]/);
    expect(JSON.parse(json)).toEqual({ text, metadata: { '\u2028': '\u2029😀' } });
  });
});

describe('a message on its way through JSON and binary', () => {
  const text = () => fc.string({ unit: 'grapheme' });
  const json = () =>
    fc.jsonValue({ stringUnit: 'grapheme' }).map((value) => JSON.parse(JSON.stringify(value)) as JsonValue);
  const object = () => fc.dictionary(text(), json(), { maxKeys: 4 });
  const content = () =>
    fc.oneof(
      fc.record({ text: text() }),
      fc.record({ raw: fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('base64')) }),
      fc.record({ url: fc.webUrl() }),
      fc.record({ data: json() }),
    );
  const part = () =>
    fc
      .tuple(
        content(),
        fc.record(
          { metadata: object(), filename: fc.string({ minLength: 1 }), mediaType: fc.constant('a/b') },
          { requiredKeys: [] },
        ),
      )
      .map(([one, rest]) => ({ ...one, ...rest }));

  it('keeps every part as it came, on both ways and in the store', () => {
    fc.assert(
      fc.property(part(), (given) => {
        const read = decodeMessage(PartSchema, given as JsonValue);
        const travelled = fromBinary(PartSchema, toBinary(PartSchema, read));
        const stored = decodeMessage(PartSchema, parse(encodeMessageText(PartSchema, travelled)));
        expect(encodeMessage(PartSchema, stored)).toEqual(given);
        expect(stored).toEqual(read);
      }),
    );
  });

  it.each<[JsonValue]>([['abc'], [true], [false], [0], [null], [[]], [{}], [''], [[null, [1]]], [1e300]])(
    'keeps type and value of data %j',
    (data) => {
      const travelled = fromBinary(PartSchema, toBinary(PartSchema, decodeMessage(PartSchema, { data })));
      expect(encodeMessageText(PartSchema, travelled)).toBe(`{"data":${JSON.stringify(data)}}`);
    },
  );
});
