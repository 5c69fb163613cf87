import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TaskState } from '../../src/protocol/index.js';
import { a2aStand } from '../support/backends/a2a.stand.js';
import { BackendService, statusText, textOf } from '../support/backends/backend.service.js';
import { modelStand } from '../support/backends/model.stand.js';
import { httpStand } from '../support/backends/plain.stands.js';
import { type Stand, serve } from '../support/backends/stand.js';
import { call, House, type Replica, until } from '../support/house.js';

/** One for each test: replicas of another one would take the turns over too. */
let house: House;
beforeEach(async () => {
  house = await House.open();
});
afterEach(() => house.close());

/** A turn that runs on a replica which then dies; another one takes it over when the lease runs out. */
async function takenOver(stand: Parameters<typeof BackendService.open>[1], text: string) {
  const dying = await BackendService.open(house, stand, { leaseMs: 300, isLive: false });
  const { id } = await dying.begin(text);
  await until(() => stand.running() === 1);
  if (stand.isRemembered)
    await until(async () => (await dying.read(id)).metadata?.['parley.dev/remote'] !== undefined);
  const heir = await BackendService.open(house, stand, { leaseMs: 60_000 });
  await until(async () => (await dying.replica.store.find(id))?.attempt === 2);
  return { id, heir, dying };
}

/** An agent that answers 202, with a Location that is no URL, and says what the test has it say, one delivery each. */
async function speaker() {
  let callbackUrl = '';
  const server = await serve(async (request, response) => {
    callbackUrl = (JSON.parse(await text(request)) as { callbackUrl: string }).callbackUrl;
    response.writeHead(202, { location: 'http://[' }).end();
  });
  const stand: Stand = {
    backend: { kind: 'http', url: server.url },
    requests: server.requests,
    running: () => 0,
    begun: () => server.requests.length,
    close: () => server.close(),
  };
  const say = async (...events: object[]) => {
    const headers = { 'content-type': 'application/json' };
    await fetch(callbackUrl, { method: 'POST', headers, body: JSON.stringify(events) });
  };
  return { stand, say };
}

/** The replica writes nothing more, as if it were killed, once a chunk of an artifact is written. */
function diesAfterChunk({ store }: Replica): void {
  const append = store.append.bind(store);
  let isDead = false;
  store.append = async (write) => {
    if (isDead) return new Promise(() => {});
    isDead = write.events.some(({ payload }) => payload.case === 'artifactUpdate');
    return append(write);
  };
}

describe('A task that waits with an agent of somebody else', () => {
  it('is cancelled there too', async () => {
    const stand = await a2aStand('JSONRPC');
    const service = await BackendService.open(house, stand);
    const { id, metadata } = await service.send('ask');
    const remote = metadata?.['parley.dev/remote'] as { taskId: string };
    await service.replica.service.cancelTask(
      { $typeName: 'lf.a2a.v1.CancelTaskRequest', tenant: '', id },
      call(),
    );

    await until(() => stand.cancelled().includes(remote.taskId));
    await service.close();
  });
});

describe('When the replica dies, an agent', () => {
  it.each([
    ['behind A2A', () => a2aStand('JSONRPC')],
    ['behind HTTP that posts callbacks', () => httpStand('callback')],
  ])('%s is found again, not begun twice, and can be cancelled', async (_, open) => {
    const stand = { ...(await open()), isRemembered: true };
    const { id, heir, dying } = await takenOver(stand, 'wait');

    expect(stand.begun()).toBe(1);
    const cancelled = await heir.replica.service.cancelTask(
      { $typeName: 'lf.a2a.v1.CancelTaskRequest', tenant: '', id },
      call(),
    );
    expect(TaskState[cancelled.status!.state]).toBe('CANCELED');
    await dying.close();
    await heir.close();
  });

  it('behind HTTP that posts callbacks is not heard twice, wherever in a delivery it was (B80)', async () => {
    const { stand, say } = await speaker();
    const dying = await BackendService.open(house, stand, { leaseMs: 300, isLive: false });
    const { id } = await dying.begin('go');
    await until(async () => (await dying.read(id)).metadata?.['parley.dev/remote'] !== undefined);
    diesAfterChunk(dying.replica);
    await say(...['a', 'b', 'c'].map((text) => ({ type: 'artifact', id: 'words', text, append: true })));
    await until(async () => textOf(await dying.read(id)) !== '');

    const heir = await BackendService.open(house, stand, { leaseMs: 60_000 });
    await say({ type: 'artifact', id: 'words', text: 'd', append: true }, { type: 'done' });
    await until(async () => (await heir.read(id)).status?.state === TaskState.COMPLETED);

    expect(textOf(await heir.read(id))).toBe('abcd');
    await dying.stop();
    await heir.close();
  });

  it.each([
    [
      'behind HTTP that streams',
      () => httpStand('sse'),
      'The service was interrupted while the agent was working.',
    ],
    ['behind a model', modelStand, 'The service was interrupted while the agent was working.'],
  ])('%s cannot be found again: the task fails and says why', async (_, open, reason) => {
    const stand = await open();
    const { id, heir, dying } = await takenOver(stand, 'wait');
    await until(async () => (await heir.read(id)).status?.state === TaskState.FAILED);

    const task = await heir.read(id);
    expect(statusText(task.status!)).toBe(reason);
    expect(textOf(task)).toBe('');
    expect(stand.begun()).toBe(1);
    await dying.close();
    await heir.close();
  });
});
