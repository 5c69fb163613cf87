import { create, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import {
  type Artifact,
  ArtifactSchema,
  type Message,
  MessageSchema,
  type Part,
  PartSchema,
  Role,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskSchema,
  TaskState,
  type TaskStatus,
  TaskStatusSchema,
} from '../../src/protocol/index.js';
import { toValue } from '../../src/protocol/v03/data.part.js';

/* Whatever 1.0 may hold that 0.3 has a word for. */

export const text = fc.string({ unit: 'grapheme' });
export const words = fc.string({ minLength: 1, maxLength: 20 });
const json: fc.Arbitrary<JsonValue> = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)));
/** Never empty: that says no more than none. */
const metadata = fc.option(
  fc
    .dictionary(words, json, { minKeys: 1, maxKeys: 3, noNullPrototype: true })
    .map((object) => JSON.parse(JSON.stringify(object)) as JsonObject),
  { nil: undefined },
);

/** Parts of which 0.3 has a word for everything: it gives a name and a media type to files alone. */
const part: fc.Arbitrary<Part> = fc.oneof(
  fc
    .record({ text, metadata })
    .map(({ text, metadata }) => create(PartSchema, { content: { case: 'text', value: text }, metadata })),
  fc
    .record({ bytes: fc.uint8Array(), filename: text, mediaType: text, metadata })
    .map(({ bytes, ...rest }) => create(PartSchema, { content: { case: 'raw', value: bytes }, ...rest })),
  fc
    .record({ url: fc.webUrl(), filename: text, mediaType: text, metadata })
    .map(({ url, ...rest }) => create(PartSchema, { content: { case: 'url', value: url }, ...rest })),
  fc
    .record({ data: json, metadata })
    .map(({ data, metadata }) =>
      create(PartSchema, { content: { case: 'data', value: toValue(data) }, metadata }),
    ),
);

const parts = fc.array(part, { minLength: 1, maxLength: 4 });
const extensions = fc.array(fc.webUrl(), { maxLength: 2 });

export const message: fc.Arbitrary<Message> = fc
  .record({
    messageId: words,
    contextId: text,
    taskId: text,
    role: fc.constantFrom(Role.USER, Role.AGENT),
    parts,
    metadata,
    extensions,
    referenceTaskIds: fc.array(words, { maxLength: 2 }),
  })
  .map((init) => create(MessageSchema, init));

const STATES = [
  TaskState.SUBMITTED,
  TaskState.WORKING,
  TaskState.COMPLETED,
  TaskState.FAILED,
  TaskState.CANCELED,
  TaskState.INPUT_REQUIRED,
  TaskState.REJECTED,
  TaskState.AUTH_REQUIRED,
] as const;

const status: fc.Arbitrary<TaskStatus> = fc
  .record({
    state: fc.constantFrom(...STATES),
    message: fc.option(message, { nil: undefined }),
    timestamp: fc.option(fc.integer({ min: 0, max: 4e12 }).map(timestampFromMs), { nil: undefined }),
  })
  .map((init) => create(TaskStatusSchema, init));

const artifact: fc.Arbitrary<Artifact> = fc
  .record({ artifactId: words, name: text, description: text, parts, metadata, extensions })
  .map((init) => create(ArtifactSchema, init));

const ids = { taskId: words, contextId: words };

export const task: fc.Arbitrary<Task> = fc
  .record({
    ...{ id: words, contextId: words, status, metadata },
    artifacts: fc.array(artifact, { maxLength: 2 }),
    history: fc.array(message, { maxLength: 2 }),
  })
  .map((init) => create(TaskSchema, init));

export const event: fc.Arbitrary<StreamResponse> = fc
  .oneof(
    task.map((value) => ({ case: 'task', value }) as const),
    message.map((value) => ({ case: 'message', value }) as const),
    fc.record({ ...ids, status, metadata }).map((value) => ({ case: 'statusUpdate', value }) as const),
    fc
      .record({ ...ids, artifact, metadata, append: fc.boolean(), lastChunk: fc.boolean() })
      .map((value) => ({ case: 'artifactUpdate', value }) as const),
  )
  .map((payload) => create(StreamResponseSchema, { payload }));
