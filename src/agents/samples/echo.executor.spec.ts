import { describe, expect, it } from 'vitest';
import { eventsOf, type FakeTurnOptions, fakeTurn, responseOf, told } from '../../../test/support/turn.js';
import { dataPart, textPart } from '../agent.events.js';
import { echo } from './echo.executor.js';

const play = async (options: FakeTurnOptions) =>
  (await eventsOf(echo.executor, fakeTurn(options))).map((event) => told(event));

describe('The echo agent', () => {
  it('returns the text as an artifact', async () => {
    expect(await play({ text: 'hello there' })).toEqual(['artifact hello there', 'COMPLETED']);
  });

  it('returns parts of every kind as they came', async () => {
    const parts = [textPart('look'), dataPart({ a: [1, null] }), { ...dataPart('x'), filename: 'x.json' }];
    const [event] = await eventsOf(echo.executor, fakeTurn({ message: { parts } }));

    const { payload } = responseOf({ case: 'artifactUpdate', value: { artifact: { parts } } });
    expect(event?.payload.value).toEqual(payload.value);
  });

  it.each(['chunksome', 'sleep well', 'chunks of text', 'constructor', 'hasOwnProperty x', '', '日本語'])(
    'echoes "%s", which only looks like a command',
    async (text) => {
      expect(await play({ text })).toEqual([`artifact ${text}`, 'COMPLETED']);
    },
  );

  it('makes chunks of one artifact, the last one marked', async () => {
    expect(await play({ text: 'chunks 3' })).toEqual([
      'WORKING',
      'artifact chunk 1\n',
      'artifact + chunk 2\n',
      'artifact +. chunk 3\n',
      'COMPLETED',
    ]);
  });

  it.each([
    ['fail', ['FAILED Failed as asked']],
    ['fail out of paper', ['FAILED out of paper']],
    ['reject', ['REJECTED Rejected as asked']],
    ['ask', ['INPUT_REQUIRED What shall I echo?']],
    ['auth', ['AUTH_REQUIRED An operator has to approve this']],
    ['auth 1', ['AUTH_REQUIRED An operator has to approve this', 'artifact auth 1', 'COMPLETED']],
    ['message', ['message A direct message']],
    ['sleep 1', ['WORKING', 'artifact sleep 1', 'COMPLETED']],
    ['silent', []],
  ])('obeys "%s"', async (text, events) => {
    expect(await play({ text })).toEqual(events);
  });

  it('throws on request', async () => {
    await expect(play({ text: 'throw password=x' })).rejects.toThrow('password=x');
  });

  it('echoes the answer to its question', async () => {
    expect(await play({ before: ['ask'], text: 'Paris' })).toEqual(['artifact Paris', 'COMPLETED']);
  });

  it('goes on after an approval and is rejected without one', async () => {
    const approved = { approved: true, by: 'ann' };
    const refused = { approved: false, by: 'ann', reason: 'not today' };

    expect(await play({ text: 'auth', approval: approved })).toEqual(['artifact auth', 'COMPLETED']);
    expect(await play({ text: 'auth', approval: refused })).toEqual(['REJECTED not today']);
  });

  it.each(['sleep 60000', 'chunks 5 60000', 'auth 60000'])(
    'ends "%s" as soon as it is cancelled',
    async (text) => {
      const cancel = new AbortController();
      const events: string[] = [];
      for await (const event of echo.executor.execute(fakeTurn({ text, signal: cancel.signal }))) {
        events.push(told(responseOf(event)));
        queueMicrotask(() => cancel.abort());
      }
      expect(events).not.toContain('COMPLETED');
    },
  );

  it('stops a fast run of chunks when it is cancelled', async () => {
    const cancel = new AbortController();
    let events = 0;
    for await (const _ of echo.executor.execute(
      fakeTurn({ text: 'chunks 1000000', signal: cancel.signal }),
    )) {
      if (++events === 10) cancel.abort();
    }
    expect(events).toBe(10);
  });
});
