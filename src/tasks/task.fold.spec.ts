import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import {
  Role,
  type StreamResponse,
  StreamResponseSchema,
  type TaskArtifactUpdateEventSchema,
  TaskSchema,
  TaskState,
} from '../protocol/index.js';
import { TaskFold } from './task.fold.js';

const text = (value: string) => ({ content: { case: 'text' as const, value } });
const start = () =>
  create(TaskSchema, {
    id: 't',
    contextId: 'c',
    status: { state: TaskState.SUBMITTED },
    history: [{ messageId: 'm1', role: Role.USER, parts: [text('go')] }],
  });

function status(state: TaskState, messageId?: string, metadata?: Record<string, string>): StreamResponse {
  const message =
    messageId === undefined ? undefined : { messageId, role: Role.AGENT, parts: [text(messageId)] };
  return create(StreamResponseSchema, {
    payload: { case: 'statusUpdate', value: { taskId: 't', status: { state, message }, metadata } },
  });
}

function artifact(value: MessageInitShape<typeof TaskArtifactUpdateEventSchema>): StreamResponse {
  return create(StreamResponseSchema, { payload: { case: 'artifactUpdate', value } });
}

function said(messageId: string): StreamResponse {
  return create(StreamResponseSchema, {
    payload: { case: 'message', value: { messageId, role: Role.USER, parts: [text(messageId)] } },
  });
}

const fold = (...events: StreamResponse[]) => {
  const fold = new TaskFold(start());
  for (const event of events) fold.apply(event);
  return fold.task;
};
const history = (task: ReturnType<typeof start>) => task.history.map(({ messageId }) => messageId);

describe('folding a task from its log', () => {
  it('moves a status message into the history when the next status comes, once (B17)', () => {
    const task = fold(status(2, 's1'), status(2, 's2'), status(2, 's1'), status(3));
    expect(history(task)).toEqual(['m1', 's1', 's2']);
    expect(task.status?.message).toBeUndefined();
  });

  it('puts the question before the answer', () => {
    const task = fold(
      status(TaskState.INPUT_REQUIRED, 'which?'),
      said('this'),
      status(TaskState.WORKING, 'ok'),
    );
    expect(history(task)).toEqual(['m1', 'which?', 'this']);
    expect(task.status?.message?.messageId).toBe('ok');
  });

  it('keeps every message of the caller, also under an id that was used before', () => {
    expect(history(fold(said('m1'), said('m1')))).toEqual(['m1', 'm1', 'm1']);
  });

  it('merges metadata by key and joins extensions (B20)', () => {
    const parts = [text('a')];
    const task = fold(
      status(2, undefined, { a: '1' }),
      status(2, undefined, { b: '2' }),
      artifact({ artifact: { artifactId: 'x', parts, metadata: { a: 1 }, extensions: ['X'] } }),
      artifact({
        artifact: { artifactId: 'x', parts, metadata: { b: 2 }, extensions: ['X', 'Y'] },
        append: true,
      }),
    );
    expect(task.metadata).toEqual({ a: '1', b: '2' });
    expect(task.artifacts[0]).toMatchObject({ metadata: { a: 1, b: 2 }, extensions: ['X', 'Y'] });
  });

  it('appends, replaces and creates artifacts in place (B21, S002-069, S002-070)', () => {
    const chunk = (artifactId: string, value: string, append: boolean, name = '') =>
      artifact({ artifact: { artifactId, name, parts: [text(value)] }, append });
    const task = fold(
      chunk('x', 'old', false, 'first'),
      chunk('y', 'made by append', true),
      chunk('x', 'new', false),
      chunk('x', 'more', true, 'renamed'),
      chunk('x', 'end', true),
    );
    expect(
      task.artifacts.map((a) => [a.artifactId, a.name, a.parts.map((p) => p.content.value).join()]),
    ).toEqual([
      ['x', 'renamed', 'new,more,end'],
      ['y', '', 'made by append'],
    ]);
  });

  it('changes neither the events nor the task that it started from', () => {
    const first = start();
    const chunk = artifact({ artifact: { artifactId: 'x', parts: [text('1')] } });
    const fold = new TaskFold(first);
    fold.apply(chunk);
    fold.apply(artifact({ artifact: { artifactId: 'x', parts: [text('2')] }, append: true }));
    fold.apply(status(TaskState.COMPLETED));
    expect(first).toEqual(start());
    expect(chunk).toEqual(artifact({ artifact: { artifactId: 'x', parts: [text('1')] } }));
  });

  it('gives the same from any split of the log into snapshot and tail', () => {
    const events = [
      status(2, 's1'),
      artifact({ artifact: { artifactId: 'x', parts: [text('1')] } }),
      said('m2'),
      artifact({ artifact: { artifactId: 'x', parts: [text('2')] }, append: true }),
      status(3, 's2', { k: 'v' }),
    ];
    const whole = fold(...events);
    for (let i = 0; i <= events.length; i++) {
      const resumed = new TaskFold(fold(...events.slice(0, i)));
      for (const event of events.slice(i)) resumed.apply(event);
      expect(resumed.task).toEqual(whole);
    }
  });
});
