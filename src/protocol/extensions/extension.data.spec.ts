import { create, type JsonObject, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { type StreamResponse, StreamResponseSchema, TaskSchema, TaskState } from '../gen/a2a_pb.js';
import { encodeMessageText } from '../json.codec.js';
import { StreamEvent } from '../stream.event.js';
import { extensionsIn, hiddenExtensions, withoutExtensions } from './extension.data.js';
import { CHANGE_FEED_URI, EXTENSION_URIS, extensionPath } from './extension.uri.js';

const { progress, files, approvals, usage } = EXTENSION_URIS;
const OTHER = 'https://e.example/x';

type Payload = MessageInitShape<typeof StreamResponseSchema>['payload'];
const response = (payload: Payload): StreamResponse => create(StreamResponseSchema, { payload });

/** What has a place for metadata, with the same there everywhere. */
function bearer(metadata: JsonObject) {
  const uris = Object.keys(metadata);
  const parts = [{ content: { case: 'text', value: 'x' } as const, metadata }];
  return { metadata, parts, extensions: uris };
}
const message = (metadata: JsonObject) => ({ messageId: 'm', ...bearer(metadata) });
const artifact = (metadata: JsonObject) => ({ artifactId: 'a', ...bearer(metadata) });

const WHOLE: JsonObject = { [progress]: { steps: [] }, [files]: { path: 'a' }, [OTHER]: 1, plain: 2 };
const task = (metadata: JsonObject) =>
  create(TaskSchema, {
    id: 't',
    metadata,
    status: { state: TaskState.WORKING, message: message(metadata) },
    history: [message(metadata)],
    artifacts: [artifact(metadata)],
  });

const EVENTS: readonly [string, (metadata: JsonObject) => StreamResponse][] = [
  ['task', (metadata) => response({ case: 'task', value: task(metadata) })],
  ['message', (metadata) => response({ case: 'message', value: message(metadata) })],
  [
    'status update',
    (metadata) =>
      response({
        case: 'statusUpdate',
        value: { metadata, status: { state: TaskState.WORKING, message: message(metadata) } },
      }),
  ],
  [
    'artifact update',
    (metadata) => response({ case: 'artifactUpdate', value: { metadata, artifact: artifact(metadata) } }),
  ],
];

describe.each(EVENTS)('The data of extensions in a %s', (_name, made) => {
  it('is found wherever it stands', () => {
    expect(extensionsIn(made(WHOLE))).toEqual([files, progress]);
    expect(extensionsIn(made({ [OTHER]: 1 }))).toEqual([]);
  });

  it('is left out of all places for who has not activated them, and nothing else (S004-20)', () => {
    const without = (uris: string[]) =>
      Object.fromEntries(Object.entries(WHOLE).filter(([key]) => !uris.includes(key)));

    expect(withoutExtensions(made(WHOLE), hiddenExtensions([]))).toEqual(made(without([progress, files])));
    expect(withoutExtensions(made(WHOLE), hiddenExtensions([files]))).toEqual(made(without([progress])));
  });

  it('leaves no empty metadata behind', () => {
    const bare = withoutExtensions(made({ [usage]: {} }), hiddenExtensions([]));
    expect(encodeMessageText(StreamResponseSchema, bare)).not.toMatch(/metadata|extensions/);
  });

  it('stays for who has activated all, in the very same object', () => {
    const event = made(WHOLE);
    expect(withoutExtensions(event, hiddenExtensions([progress, files]))).toBe(event);
  });
});

describe('An event of a stream', () => {
  const event = () => new StreamEvent(EVENTS[2]![1](WHOLE), 7);

  it('is one and the same for all readers with the same extensions, and its encodings with it', () => {
    const shared = event();
    const one = shared.without(hiddenExtensions([]));

    expect(shared.without(hiddenExtensions([usage]))).toBe(one);
    expect(shared.without(hiddenExtensions([approvals, files]))).not.toBe(one);
    expect(shared.without(hiddenExtensions([progress, files]))).toBe(shared);
    expect(one.seq).toBe(7);
    expect(one.json).not.toContain('parley.dev');
    expect(one.binary).toBe(one.binary);
    expect(shared.json).toContain(progress);
  });

  it('without such data is itself for everyone', () => {
    const plain = new StreamEvent(EVENTS[2]![1]({ plain: 1 }), 1);
    expect(plain.without(hiddenExtensions([]))).toBe(plain);
  });
});

describe("An extension's page", () => {
  it('lies at the path of its URI, where the extension is one of ours', () => {
    expect(extensionPath(progress)).toBe('/extensions/progress/v1');
    expect(extensionPath(CHANGE_FEED_URI)).toBe('/extensions/change-feed/v1');
    expect(extensionPath(OTHER)).toBeUndefined();
  });
});
