import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { afterAll, describe, expect, it } from 'vitest';
import { artifact, completed, dataPart, textPart, working } from '../../src/agents/index.js';
import { conformance } from './conformance.case.js';
import { ScriptStage, ServiceStage } from './stage.js';
import { reaches, read, refused, says, send, start, taskIn, taskState } from './task.calls.js';
import { NO_LISTS, NO_MEDIA_TYPES, NO_PART_WITHOUT_KIND } from './v03/modern.only.js';

const stage = new ServiceStage({ PARLEY_MAX_BODY_BYTES: '200000', PARLEY_MAX_JSON_VALUES: '1000' });
const { conforms, onEveryBinding } = conformance(stage);

const withPart = (part: JsonObject) => says('', { parts: [part] });
/** An object in an object and so on, as deep as data may be or one level deeper. */
const nested = (levels: number): JsonObject => ({ a: levels > 1 ? nested(levels - 1) : [] });
const DEEPEST = nested(29);
const TOO_DEEP = nested(30);
/** More values than a request may have here. */
const MANY = Array.from({ length: 1_000 }, (_, n) => `key ${n}`);
const every256 = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

describe('A part', () => {
  const data: JsonValue[] = [{ a: [1, { b: null }] }, [], {}, 'abc', '', 0, -1.5, true, false, null];
  const whole: [string, JsonObject][] = [
    ['text', { text: 'hello' }],
    ['text that is not ASCII', { text: '<a & b> 日本語 😀 \u2028 "\\' }],
    ['raw bytes', { raw: every256.toString('base64') }],
    ['a url', { url: 'https://files.example/a%20b?c=d#e' }],
    ['data as deep as may be', { data: DEEPEST, metadata: DEEPEST }],
    ...data.map((value): [string, JsonObject] => [`data ${JSON.stringify(value)}`, { data: value }]),
  ];
  for (const [title, part] of whole) {
    onEveryBinding(
      `of ${title} comes back as it went in, and is stored so (S002-059, B77, B100)`,
      async (client) => {
        const task = await send(client, withPart(part));
        const stored = await read(client, task.id);
        for (const { parts } of [
          task.artifacts[0]!,
          stored.artifacts[0]!,
          task.history[0]!,
          stored.history[0]!,
        ]) {
          expect(parts).toEqual([part]);
        }
        return stored;
      },
    );
  }

  onEveryBinding(
    'keeps its media type, file name and metadata, of whatever kind (S002-061)',
    async (client) => {
      const more = { filename: 'ä b.bin', metadata: { a: { b: [null, 1] }, '': '' } };
      const parts = [
        { text: 'a', mediaType: 'text/plain', ...more },
        { raw: 'AAE=', mediaType: 'application/octet-stream', ...more },
        { url: 'https://x.example/', mediaType: 'application/octet-stream', ...more },
        { data: { k: 1 }, mediaType: 'application/json', ...more },
      ];
      const task = await send(client, says('', { parts }));
      expect((await read(client, task.id)).artifacts[0]?.parts).toEqual(parts);
      return task;
    },
    { modernOnly: NO_MEDIA_TYPES },
  );

  for (const form of [every256.toString('base64url'), every256.toString('base64').replace(/=+$/, '')]) {
    it(`may have its bytes in base64 as ${form.slice(-4)}, and has them back in the standard form (B102)`, async () => {
      for (const client of stage.everyone().filter(({ binding }) => binding !== 'gRPC')) {
        const task = await send(client, withPart({ raw: form }));
        expect(task.artifacts[0]?.parts[0]?.raw).toBe(every256.toString('base64'));
      }
    });
  }

  conforms({
    title: 'without content is refused, by its place (S002-060, S004-34, B97)',
    modernOnly: NO_PART_WITHOUT_KIND,
    operation: 'sendMessage',
    request: () => ({ message: says('', { parts: [{ text: 'a' }, { filename: 'x' }] }) }),
    expect: refused('INVALID_PARAMS', 'message.parts[1]'),
  });
  it.each<[string, JsonObject, string]>([
    ['with two contents', { text: 'a', data: {} }, 'message.parts[0]'],
    ['with base64 that is none', { raw: '%%%' }, 'message.parts[0].raw'],
    ['with a number for text', { text: 7 }, 'message.parts[0].text'],
    ['that is a text', 'part' as never, 'message.parts[0]'],
  ])('%s is refused before the agent sees it (S002-060, B97, B102)', async (_title, part, field) => {
    for (const client of stage.clients().slice(0, 2)) {
      refused('INVALID_PARAMS', field)(await client.call('sendMessage', { message: withPart(part) }));
    }
  });
  it.each<[string, JsonObject, JsonObject]>([
    ['a stray kind and unknown fields', { kind: 'text', text: 'a', x: { y: 1 } }, { text: 'a' }],
    ['an empty member beside a filled one', { text: '', data: { k: 1 } }, { data: { k: 1 } }],
    ['nulls', { text: 'a', raw: null, filename: null, metadata: null }, { text: 'a' }],
    ['names of the proto', { text: 'a', media_type: 'text/plain' }, { text: 'a', mediaType: 'text/plain' }],
  ])('may come with %s (S002-061, B95, B97)', async (_title, part, kept) => {
    for (const client of stage.clients().slice(0, 2)) {
      expect((await send(client, withPart(part))).artifacts[0]?.parts).toEqual([kept]);
    }
  });

  conforms({
    title: 'with U+0000 is refused, by the field (B75)',
    operation: 'sendMessage',
    request: () => ({ message: says('a\u0000b', { metadata: { k: '\u0000' } }) }),
    expect: (reply) => {
      expect(reply.refusal?.reason).toBe('INVALID_PARAMS');
      expect(reply.refusal?.fields).toContain('message.parts[0].text');
      expect(reply.refusal?.fields).toHaveLength(2);
    },
  });
  for (const [field, message] of [
    ['message.parts[0].data', withPart({ data: TOO_DEEP })],
    ['message.parts[0].metadata', withPart({ text: 'a', metadata: TOO_DEEP })],
    ['message.metadata', says('a', { metadata: TOO_DEEP })],
  ] as const) {
    conforms({
      title: `nested deeper than readers of protobuf go is refused, by the field ${field}`,
      operation: 'sendMessage',
      request: () => ({ message: { ...message, messageId: crypto.randomUUID() } }),
      expect: refused('INVALID_PARAMS', field),
    });
  }
  conforms({
    title: 'whose data has more values than the service has time for is refused, and the next one is not',
    operation: 'sendMessage',
    request: () => ({ message: withPart({ data: Object.fromEntries(MANY.map((key) => [key, 1])) }) }),
    expect: async (reply, _given, client) => {
      refused('INVALID_PARAMS', 'message.parts[0].data')(reply);
      const most = { data: MANY.slice(50) };
      expect((await send(client, withPart(most))).artifacts[0]?.parts).toEqual([most]);
    },
  });
  it('with half a surrogate pair keeps the rest (B75)', async () => {
    for (const client of stage.clients().slice(0, 2)) {
      expect((await send(client, 'a\ud800b')).artifacts[0]?.parts[0]?.text).toBe('a\ufffdb');
    }
  });
});

describe('The media type of a part', () => {
  conforms({
    title: 'that the agent does not take is refused by name, and no task is made (S002-062)',
    operation: 'sendMessage',
    request: () => ({
      message: says('a', {
        parts: [{ raw: 'AA==', mediaType: 'image/png' }],
        contextId: crypto.randomUUID(),
      }),
    }),
    expect: (reply) => {
      refused('CONTENT_TYPE_NOT_SUPPORTED')(reply);
      expect(reply.refusal?.metadata.mediaType).toBe('image/png');
    },
  });
  onEveryBinding(
    'that is refused leaves no task behind (S002-062)',
    async (client) => {
      const contextId = crypto.randomUUID();
      const message = says('a', { contextId, parts: [{ raw: 'AA==', mediaType: 'image/png' }] });
      refused('CONTENT_TYPE_NOT_SUPPORTED')(await client.call('sendMessage', { message }));
      refused('CONTENT_TYPE_NOT_SUPPORTED')(await client.call('sendStreamingMessage', { message }));
      expect((await client.result('listTasks', { contextId })).totalSize ?? 0).toBe(0);
    },
    { modernOnly: NO_LISTS },
  );

  const scripted = new ScriptStage({
    scripts: {
      modes: ({ acceptedOutputModes }) => [
        // Data of 0.3 has no media type, so this has none either.
        artifact({ parts: [{ ...dataPart([...acceptedOutputModes]), mediaType: '' }] }),
        completed(),
      ],
      deep: () => [working(), artifact({ parts: [dataPart(TOO_DEEP)] }), completed()],
      nul: () => [artifact({ parts: [textPart('a\u0000b\ud800')] }), completed('c\u0000')],
    },
    agent: {
      defaultInputModes: ['text/plain', 'application/json'],
      skills: [
        { id: 'any', name: 'Any', description: 'Takes all', tags: ['x'] },
        { id: 'text', name: 'Text', description: 'Takes text', tags: ['x'], inputModes: ['text/plain'] },
      ],
    },
  });
  const { conforms: conformsScripted, onEveryBinding: onEveryScripted } = conformance(scripted);
  const twoParts = (metadata: JsonObject) => says('', { parts: [{ text: 'modes' }, { data: {} }], metadata });

  conformsScripted({
    title: 'is measured by the skill that the message names (S002-063)',
    operation: 'sendMessage',
    request: () => ({ message: twoParts({ skillId: 'text' }) }),
    expect: refused('CONTENT_TYPE_NOT_SUPPORTED'),
  });
  conformsScripted({
    title: 'is measured by the agent where the skill says nothing (S002-063)',
    operation: 'sendMessage',
    request: () => ({ message: twoParts({ skillId: 'any' }) }),
    expect: taskState('COMPLETED'),
  });
  for (const [kind, part, mediaType] of [
    ['raw', { raw: 'AA==' }, 'application/octet-stream'],
    ['url', { url: 'https://x.example/' }, 'application/octet-stream'],
  ] as const) {
    conformsScripted({
      title: `of ${kind} without one is ${mediaType} (S002-064)`,
      operation: 'sendMessage',
      request: () => ({ message: says('', { parts: [{ text: 'modes' }, part] }) }),
      expect: (reply) => {
        refused('CONTENT_TYPE_NOT_SUPPORTED')(reply);
        expect(reply.refusal?.metadata.mediaType).toBe(mediaType);
      },
    });
  }
  conformsScripted({
    title: 'of text and data without one is text/plain and application/json (S002-064)',
    operation: 'sendMessage',
    request: () => ({ message: twoParts({}) }),
    expect: taskState('COMPLETED'),
  });
  conformsScripted({
    title: 'that the client accepts is told to the agent (S002-065)',
    operation: 'sendMessage',
    request: () => ({
      message: says('modes'),
      configuration: { acceptedOutputModes: ['image/png', 'text/plain'] },
    }),
    expect: (reply) =>
      expect(taskIn(reply).artifacts[0]?.parts[0]?.data).toEqual(['image/png', 'text/plain']),
  });

  onEveryScripted(
    'does not matter for what the agent writes badly: it is made storable (B75)',
    async (client) => {
      const task = await send(client, 'nul');
      expect(task.artifacts[0]?.parts[0]?.text).toBe('a\ufffdb\ufffd');
      expect(task.status.message?.parts[0]?.text).toBe('c\ufffd');
      return task;
    },
  );
  onEveryScripted(
    'does not matter for what the agent nests too deep: the task fails with the reason, and can be read',
    async (client) => {
      const { id } = await start(client, 'deep');
      const task = await reaches(client, id, 'FAILED');
      expect(task.metadata).toEqual({ 'parley.dev/reason': 'INVALID_AGENT_RESPONSE' });
      return task;
    },
  );
});

describe('A url', () => {
  let hits = 0;
  const server = createServer((_, response) => {
    hits++;
    response.end();
  });
  afterAll(() => server.close());

  it('is never fetched by the service (S002-066)', async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    for (const client of stage.everyone()) {
      const url = `http://127.0.0.1:${port}/${client.version}/${client.binding}`;
      const task = await send(client, withPart({ url }));
      expect(task.artifacts[0]?.parts[0]?.url).toBe(url);
    }
    expect(hits).toBe(0);
  });
});

describe('A message larger than allowed', () => {
  onEveryBinding('is refused alike, and the connection can be used on (S002-067, B113)', async (client) => {
    const big = withPart({ raw: Buffer.alloc(210_000).toString('base64') });
    const reply = await client.call('sendMessage', { message: big });
    refused('PAYLOAD_TOO_LARGE')(reply);
    const fits = withPart({ raw: Buffer.alloc(140_000).toString('base64') });
    expect((await send(client, fits)).status.state).toBe('TASK_STATE_COMPLETED');
    return reply.refusal?.reason;
  });
});
