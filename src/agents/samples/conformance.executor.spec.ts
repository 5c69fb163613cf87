import { describe, expect, it } from 'vitest';
import { eventsOf, type FakeTurnOptions, fakeTurn, responseOf, told } from '../../../test/support/turn.js';
import { textPart } from '../agent.events.js';
import { conformance } from './conformance.executor.js';

const send = (messageId: string, text = 'hello', more: FakeTurnOptions = {}) =>
  fakeTurn({ ...more, message: { messageId, parts: [textPart(text)] } });
const play = async (...args: Parameters<typeof send>) =>
  (await eventsOf(conformance.executor, send(...args))).map(told);

const FILE = { mediaType: 'text/plain', filename: 'output.txt' };

describe('The conformance agent', () => {
  it.each([
    ['tck-complete-task', ['COMPLETED Hello from TCK']],
    ['tck-input-required', ['INPUT_REQUIRED']],
    ['tck-artifact-text', ['artifact Generated text content', 'COMPLETED']],
    ['tck-artifact-file', ['artifact (raw)', 'COMPLETED']],
    ['tck-artifact-file-url', ['artifact (url)', 'COMPLETED']],
    ['tck-artifact-data', ['artifact (data)', 'COMPLETED']],
    ['tck-message-response', ['message Direct message response']],
    ['tck-reject-task', ['REJECTED']],
    ['tck-stream-001', ['WORKING', 'artifact Stream hello from TCK', 'COMPLETED']],
    ['tck-stream-002', ['COMPLETED']],
    ['tck-stream-003', ['WORKING', 'artifact Stream task lifecycle', 'COMPLETED']],
    ['tck-stream-ordering-001', ['WORKING', 'artifact Ordered output', 'COMPLETED']],
    ['tck-stream-artifact-text', ['WORKING', 'artifact Streamed text content', 'COMPLETED']],
    ['tck-stream-artifact-file', ['WORKING', 'artifact (raw)', 'COMPLETED']],
    ['tck-stream-artifact-chunked', ['WORKING', 'artifact chunk-1 ', 'artifact +. chunk-2', 'COMPLETED']],
    ['tck-auth-required', ['AUTH_REQUIRED']],
    ['tck-task-failure', ['FAILED']],
    ['tck-multi-turn', ['INPUT_REQUIRED']],
    ['tck-unheard-of', ['COMPLETED Unhandled messageId prefix: tck-unheard-of-7f3a']],
  ])('plays %s by the message id', async (prefix, events) => {
    expect(await play(`${prefix}-7f3a`)).toEqual(events);
  });

  it('sends the files and the data that the kits expect', async () => {
    const partOf = async (prefix: string) => {
      const [{ payload } = { payload: undefined }] = await eventsOf(conformance.executor, send(prefix));
      return payload?.case === 'artifactUpdate' ? payload.value.artifact?.parts[0] : undefined;
    };
    expect(await partOf('tck-artifact-file')).toMatchObject({
      ...FILE,
      content: { value: Buffer.from('tck') },
    });
    expect(await partOf('tck-artifact-file-url')).toMatchObject({
      ...FILE,
      content: { value: 'https://example.com/output.txt' },
    });
    expect(await partOf('tck-artifact-data')).toMatchObject({
      content: { case: 'data' },
      mediaType: 'application/json',
    });
  });

  it.concurrent.each([
    ['test-resubscribe-message-id', 4_000, ['WORKING', 'COMPLETED']],
    ['tck-delayed-complete', 2_000, ['WORKING', 'COMPLETED Done after delay']],
    ['tck-long-running', 3_000, ['WORKING', 'artifact Long-running result', 'COMPLETED']],
  ])(
    'lets %s work for %i ms',
    async (prefix, ms, events) => {
      const started = performance.now();
      expect(await play(prefix)).toEqual(events);
      expect(performance.now() - started).toBeGreaterThan(ms - 5);
    },
    15_000,
  );

  it.each(['tck-cancel', 'tck-long-running', 'test-resubscribe-message-id'])(
    'ends %s when cancelled',
    async (id) => {
      const cancel = new AbortController();
      const events: string[] = [];
      for await (const event of conformance.executor.execute(send(id, '', { signal: cancel.signal }))) {
        events.push(told(responseOf(event)));
        setImmediate(() => cancel.abort());
      }
      expect(events).toEqual(['WORKING']);
    },
  );

  it('goes by the first text where the message id has no prefix', async () => {
    expect(await play('m-1', 'tck-stream-002 please')).toEqual(['COMPLETED']);
    expect(await play('tck-complete-task-1', 'tck-reject-task')).toEqual(['COMPLETED Hello from TCK']);
  });

  it('goes by the first message of the task where a follow-up says nothing', async () => {
    const before = [{ messageId: 'tck-multi-turn-1' }];
    expect(await play('m-2', 'go on', { before })).toEqual(['INPUT_REQUIRED']);
    expect(await play('m-3', 'done now', { before })).toEqual(['COMPLETED']);
    expect(await play('tck-complete-task', 'go on', { before })).toEqual(['COMPLETED Hello from TCK']);
  });

  it('ends a task that waited for an approval as the operator says', async () => {
    const answer = (approved: boolean) => ({ approval: { approved, by: 'ann', reason: 'because' } });
    expect(await play('tck-auth-required', '', answer(true))).toEqual(['COMPLETED']);
    expect(await play('tck-auth-required', '', answer(false))).toEqual(['REJECTED because']);
  });
});
