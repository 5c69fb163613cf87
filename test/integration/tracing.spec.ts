import { Logger } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completed } from '../../src/agents/index.js';
import { call, House, send, until } from '../support/house.js';
import { recordSpans } from '../support/recorded.spans.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';

const exporter = recordSpans();
let house: House;

beforeAll(async () => {
  Logger.overrideLogger(false);
  house = await House.open();
});
afterAll(async () => {
  await house.close();
});

describe('a turn that another replica takes over', () => {
  it('stays in the trace of the message, and links to it (B126)', async () => {
    const settings = { crash: { retries: 1 } };
    const dying = house.replica({
      leaseMs: 200,
      env: { PARLEY_DRAIN_MS: '0' },
      settings,
      script: async function* ({ signal }) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        yield completed();
      },
    });
    const traceparent = `00-${TRACE}-${CALLER}-01`;
    await dying.service.sendMessage(send('go', { now: true }), call({ traceparent }));

    const taking = house.replica({
      leaseMs: 60_000,
      settings,
      script: async function* () {
        yield completed();
      },
    });
    await taking.live();

    const taken = () =>
      exporter
        .getFinishedSpans()
        .find(({ name, attributes }) => name === 'a2a/turn' && attributes['a2a.turn.attempt'] === 2);
    await until(() => taken() !== undefined);
    expect(taken()?.spanContext().traceId).toBe(TRACE);
    expect(taken()?.parentSpanContext?.spanId).toBe(CALLER);
    expect(taken()?.links.map(({ context }) => context.spanId)).toEqual([CALLER]);
    expect(taken()?.attributes['a2a.task.state']).toBe('COMPLETED');
  });
});
