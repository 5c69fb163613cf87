import { describe, expect, it } from 'vitest';
import { type DeliveryServices, PushDelivery } from './push.delivery.js';
import type { PushClaim, PushEvent } from './push.store.js';
import { ReceiverHosts } from './receiver.hosts.js';
import { RetrySchedule } from './retry.schedule.js';
import { WebhookSigner } from './webhook.signer.js';

const HOST = 'hook.example';
const CLAIM: PushClaim = {
  claim: 'c',
  taskId: 't',
  agent: 'echo',
  target: { id: 'one', url: `https://${HOST}/`, host: HOST, version: '1.0', extensions: [] },
  cursor: 0,
  tries: 0,
  moves: 0,
  probe: false,
  events: [1, 2, 3].map((seq) => ({ seq, json: '{}' })),
};

/** Delivers to a receiver that answers so, and tells what was said of its host. */
async function deliver(claim: PushClaim, statuses: readonly number[], hosts = new ReceiverHosts(10)) {
  const left = [...statuses];
  const told: string[] = [];
  const services = {
    client: {
      post: () => {
        const status = left.shift()!;
        return { answer: Promise.resolve({ ok: status < 300, status, ms: 1 }) };
      },
    },
    signer: new WebhookSigner([]),
    hosts,
    circuit: {
      trip: async (host: string, _: number, probed: boolean) => void told.push(`trip ${host} ${probed}`),
      recover: async (host: string) => void told.push(`recover ${host}`),
    },
    schedule: new RetrySchedule([1_000]),
    bodies: { of: () => (event: PushEvent) => event.json },
    metrics: { tried: () => undefined, paused: () => undefined },
    unlock: () => ({}),
    givenUp: () => undefined,
  } as unknown as DeliveryServices;
  const { cursor, sent } = await new PushDelivery(claim, services).run();
  return { cursor, sent, told };
}

describe('a delivery', () => {
  it('ends at the first event that is not taken', async () => {
    expect(await deliver(CLAIM, [200, 500])).toEqual({ cursor: 1, sent: 1, told: [] });
  });

  it('has its host paused after twenty failures in a row', async () => {
    const hosts = new ReceiverHosts(10);
    for (let n = 1; n < 20; n++) expect((await deliver(CLAIM, [500], hosts)).told).toEqual([]);
    expect((await deliver(CLAIM, [500], hosts)).told).toEqual([`trip ${HOST} false`]);
  });

  it('that is a probe tells by its first push alone whether its host has recovered', async () => {
    const probe = { ...CLAIM, probe: true };
    expect((await deliver(probe, [500])).told).toEqual([`trip ${HOST} true`]);
    expect((await deliver(probe, [200, 500])).told).toEqual([`recover ${HOST}`]);
    expect((await deliver(probe, [200, 200, 200])).told).toEqual([`recover ${HOST}`]);
  });
});
