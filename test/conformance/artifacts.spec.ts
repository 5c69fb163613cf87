import { describe, expect } from 'vitest';
import { artifact, completed, textPart, working } from '../../src/agents/index.js';
import { conformance } from './conformance.case.js';
import { ScriptStage, ServiceStage } from './stage.js';
import {
  type ArtifactJson,
  kinds,
  reaches,
  read,
  refused,
  says,
  send,
  start,
  type TaskJson,
  taskIn,
  textOf,
} from './task.calls.js';

const text = (value: string) => [textPart(value)];

const scripted = new ScriptStage({
  scripts: {
    two: () => [
      artifact({ artifactId: 'a', parts: text('1') }),
      artifact({ artifactId: 'b', parts: text('2') }),
    ],
    nameless: () => [artifact({ parts: text('the answer') }), completed()],
    empty: () => [artifact({ artifactId: 'a', parts: [] }), completed()],
    grown: () => [
      working(),
      artifact({
        artifactId: 'a',
        name: 'n1',
        description: 'd1',
        parts: text('1'),
        metadata: { a: 1, c: 1 },
        extensions: ['x:X'],
      }),
      artifact({ artifactId: 'a', parts: text('2') }, { append: true }),
      artifact(
        {
          artifactId: 'a',
          name: 'n2',
          parts: text('3'),
          metadata: { b: 2, c: 3 },
          extensions: ['x:X', 'y:Y'],
        },
        { append: true },
      ),
      completed(),
    ],
    replaced: () => [
      artifact({ artifactId: 'a', parts: text('old'), metadata: { a: 1 } }),
      artifact({ artifactId: 'a', parts: text('older') }, { append: true, lastChunk: true }),
      artifact({ artifactId: 'a', parts: text('lost') }, { append: true }),
      artifact({ artifactId: 'b', parts: text('between') }),
      artifact({ artifactId: 'a', parts: text('new') }),
      artifact({ artifactId: 'a', parts: text('er') }, { append: true }),
      completed(),
    ],
    unknown: () => [artifact({ artifactId: 'u', parts: text('first') }, { append: true }), completed()],
  },
});
const { conforms, onEveryBinding } = conformance(scripted);

/** What a client makes of the artifact events of a stream (specification 4.2.2). */
function folded(frames: readonly object[]): Pick<ArtifactJson, 'artifactId' | 'parts'>[] {
  const artifacts = new Map<string, ArtifactJson>();
  for (const frame of frames) {
    const { artifactUpdate } = frame as { artifactUpdate?: { artifact: ArtifactJson; append?: boolean } };
    if (!artifactUpdate) continue;
    const { artifact: update, append } = artifactUpdate;
    const known = artifacts.get(update.artifactId);
    const parts = append && known ? [...known.parts, ...update.parts] : update.parts;
    artifacts.set(update.artifactId, { ...update, parts });
  }
  return [...artifacts.values()].map(({ artifactId, parts }) => ({ artifactId, parts }));
}

describe('An artifact', () => {
  conforms({
    title: 'has an id of its own in the task (S002-068)',
    operation: 'sendMessage',
    request: () => ({ message: says('two') }),
    expect: (reply) => expect(taskIn(reply).artifacts.map((one) => one.artifactId)).toEqual(['a', 'b']),
  });
  conforms({
    title: 'that the agent does not name is the response of its task (S000-16)',
    operation: 'sendMessage',
    request: () => ({ message: says('nameless') }),
    expect: (reply) => {
      const { id, artifacts } = taskIn(reply);
      expect(artifacts[0]).toMatchObject({ artifactId: `${id}-response`, name: 'response' });
    },
  });
  conforms({
    title: 'without parts is no answer of an agent (S002-068)',
    operation: 'sendMessage',
    request: () => ({ message: says('empty') }),
    expect: refused('INVALID_AGENT_RESPONSE'),
  });

  for (const [script, title, parts] of [
    ['grown', 'grows by what is appended, in its order (S002-069, S002-072)', ['123']],
    [
      'replaced',
      'is replaced by what is not appended, also after its last chunk (S002-069, B21)',
      ['newer', 'between'],
    ],
    ['unknown', 'is made by a chunk to an unknown id (S002-070)', ['first']],
  ] as const) {
    onEveryBinding(title, async (client) => {
      const blocking = await send(client, script);
      expect(blocking.artifacts.map(textOf)).toEqual(parts);
      expect(await read(client, blocking.id)).toEqual(blocking);
      const stream = await client.stream('sendStreamingMessage', { message: says(script) });
      const frames = await stream.rest();
      const stored = await read(client, (frames[0] as { task: TaskJson }).task.id);
      expect(folded(frames)).toEqual(
        stored.artifacts.map(({ artifactId, parts }) => ({ artifactId, parts })),
      );
      return [blocking, frames];
    });
  }

  conforms({
    title: 'takes name, description, metadata and extensions of its chunks in (S002-071, B20)',
    operation: 'sendMessage',
    request: () => ({ message: says('grown') }),
    expect: (reply) =>
      expect(taskIn(reply).artifacts[0]).toMatchObject({
        name: 'n2',
        description: 'd1',
        metadata: { a: 1, b: 2, c: 3 },
        extensions: ['x:X', 'y:Y'],
      }),
  });
});

describe('A task that is cancelled', () => {
  const stage = new ServiceStage();

  conformance(stage).onEveryBinding('keeps its unfinished artifacts (S002-073, S002-108)', async (client) => {
    const { id } = await start(client, 'chunks 1000 20');
    await expect.poll(async () => (await read(client, id)).artifacts?.[0]?.parts.length).toBeGreaterThan(2);
    const cancelled = (await client.result('cancelTask', { id })) as TaskJson;
    expect(cancelled.status.state).toBe('TASK_STATE_CANCELED');
    expect(textOf(cancelled.artifacts[0])).toMatch(/^chunk 1\nchunk 2\n/);
    expect(await read(client, id)).toEqual(cancelled);
  });
  conformance(stage).onEveryBinding(
    'shows its end on the open stream, and nothing after (S002-108)',
    async (client) => {
      const stream = await client.stream('sendStreamingMessage', { message: says('chunks 1000 20') });
      const { task } = (await stream.next()) as { task: TaskJson };
      await reaches(client, task.id, 'WORKING');
      await client.result('cancelTask', { id: task.id });
      const seen = kinds(await stream.rest());
      expect(seen.at(-1)).toBe('CANCELED');
      expect(seen.indexOf('CANCELED')).toBe(seen.length - 1);
    },
  );
});
