import { toJson } from '@bufbuild/protobuf';
import { describe, expect, it, vi } from 'vitest';
import { eventsOf, fakeTurn, responseOf, told } from '../../../test/support/turn.js';
import { StreamResponseSchema } from '../../protocol/index.js';
import { textOf } from '../agent.events.js';
import { testRunner } from './test-runner.executor.js';

async function run(text: string) {
  const events = await eventsOf(testRunner.executor, fakeTurn({ text }));
  const log = events.flatMap(({ payload }) =>
    payload.case === 'artifactUpdate' && payload.value.artifact?.artifactId === 'test-log'
      ? [payload.value]
      : [],
  );
  return {
    chunks: log,
    log: log.map(({ artifact }) => textOf(artifact?.parts ?? [])).join(''),
    last: events.map((event) => toJson(StreamResponseSchema, event)).slice(-2),
    told: events.map(told),
  };
}

const summaryOf = (passed: number, failed: number) => [
  {
    artifactUpdate: {
      artifact: {
        artifactId: 'summary',
        parts: [{ data: { passed, failed, durationMs: expect.any(Number) }, mediaType: 'application/json' }],
      },
    },
  },
  { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } },
];

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('The test runner', () => {
  it('runs the suites that the message names', async () => {
    const { log, last } = await run('Run the cart and price tests, please.');

    expect(log).toContain('a new cart is empty');
    expect(log).toContain('ten articles cost a tenth less');
    expect(log).not.toContain('an order takes from the stock');
    expect(last).toMatchObject(summaryOf(7, 0));
  });

  it('makes one artifact of the log, chunk by chunk, the last one marked', async () => {
    const { chunks, told } = await run('run cart');

    expect(told[0]).toBe('WORKING Running cart/cart.test.js');
    expect(chunks.length).toBeGreaterThan(2);
    expect(chunks.map(({ append }) => append)).toEqual(chunks.map((_, i) => i > 0));
    expect(chunks.map(({ lastChunk }) => lastChunk)).toEqual(chunks.map((_, i) => i === chunks.length - 1));
  });

  it('counts what fails and still completes: the run is the task', async () => {
    const { log, last } = await run('run stock');

    expect(log).toContain('Missing expected exception');
    expect(last).toMatchObject(summaryOf(1, 1));
  });

  it('runs the tests of a quoted name', async () => {
    expect((await run('run "a new cart is empty"')).last).toMatchObject(summaryOf(1, 0));
    expect((await run('run price "articles cost"')).last).toMatchObject(summaryOf(1, 0));
  });

  it.each([
    ['run unit', 'FAILED There is no suite unit. There are: cart, price, soak, stock'],
    ['run cart/../price', 'FAILED There is no suite cart/../price. There are: cart, price, soak, stock'],
    ['run "no such test"', 'FAILED There is no test named "no such test"'],
    ['run price "a new cart is empty"', 'FAILED There is no test named "a new cart is empty"'],
  ])('fails "%s" with what there is instead', async (text, event) => {
    expect((await run(text)).told).toEqual([event]);
  });

  it('gives the tests nothing of its own environment', async () => {
    vi.stubEnv('NODE_OPTIONS', '--no-such-option');
    try {
      expect((await run('run price')).last).toMatchObject(summaryOf(3, 0));
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it.each(['cancelled', 'left'])('kills the processes of the tests when the turn is %s', async (how) => {
    const cancel = new AbortController();
    let pid = 0;
    for await (const event of testRunner.executor.execute(
      fakeTurn({ text: 'run soak', signal: cancel.signal }),
    )) {
      const line = told(responseOf(event));
      expect(line).not.toMatch(/COMPLETED|exit code/);
      pid ||= Number(/soak runs in process (\d+)/.exec(line)?.[1] ?? 0);
      if (pid === 0) continue;
      expect(isAlive(pid)).toBe(true);
      if (how === 'left') break;
      cancel.abort();
    }
    expect(pid).toBeGreaterThan(0);
    await vi.waitFor(() => expect(isAlive(pid)).toBe(false), { timeout: 20_000 });
  });

  it('starts nothing when the turn was cancelled before', async () => {
    const events = await eventsOf(
      testRunner.executor,
      fakeTurn({ text: 'run soak', signal: AbortSignal.abort() }),
    );
    expect(events.map(told)).toEqual(['WORKING Running soak/soak.test.js']);
  });
});
