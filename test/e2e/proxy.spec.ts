import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Answer, type AnyCall, BINDINGS, callAny, type ServiceAddress } from '../support/any.binding.js';
import { type AnyStream, type Frame, openStream } from '../support/any.stream.js';
import { freePorts } from '../support/free.ports.js';
import { hasNginx, Nginx } from '../support/nginx.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { type RunningService, startService } from '../support/service.js';

const isThere = hasNginx();
const why = isThere ? '' : ' (skipped: nginx is not installed)';

/** How long a stream is quiet behind nginx; in full, as long as with the stock settings of both. */
const QUIET =
  process.env.PARLEY_TEST_FULL === 'true'
    ? { ms: 180_000, readTimeout: '60s', heartbeatMs: '15000' }
    : { ms: 6_000, readTimeout: '2s', heartbeatMs: '400' };

/** Replicas with ports that they keep, and nginx in front of them. */
class Site {
  readonly replicas: RunningService[] = [];
  nginx!: Nginx;
  private database!: TestDatabase;
  private readonly settings: Record<string, string>[] = [];

  async open(count: number, readTimeout: string, env: Record<string, string>): Promise<this> {
    this.database = await createDatabase();
    const ports = await freePorts(2 * count);
    for (let index = 0; index < count; index++) {
      const [http, grpc] = ports.slice(2 * index);
      this.settings.push({ ...env, PARLEY_HTTP_PORT: `${http}`, PARLEY_GRPC_PORT: `${grpc}` });
    }
    this.replicas.push(...(await Promise.all(this.settings.map((_, index) => this.replica(index)))));
    this.nginx = await Nginx.start(this.replicas, readTimeout);
    return this;
  }

  /** As a deployment does it: told to go, gone, the next one there. Answers the exit code. */
  async restart(index: number): Promise<number | null> {
    const code = await this.replicas[index]!.stop();
    this.replicas[index] = await this.replica(index);
    return code;
  }

  async close(): Promise<void> {
    await this.nginx?.stop();
    await Promise.all(this.replicas.map((replica) => replica.stop()));
    await this.database?.drop();
  }

  private replica(index: number): Promise<RunningService> {
    return startService({ env: this.settings[index], database: this.database });
  }
}

const message = (text: string) => ({
  message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] },
});
const send = (site: ServiceAddress, binding: AnyCall['binding'], text: string): Promise<Answer> =>
  callAny(site, { binding, operation: 'sendMessage', request: message(text) });
const follow = (site: ServiceAddress, binding: AnyCall['binding'], text: string): AnyStream =>
  openStream(site, { binding, operation: 'sendStreamingMessage', request: message(text) });

/**
 * The artifact as a reader folds it: a snapshot shows it as it is, and a turn that another replica has taken over
 * begins it anew.
 */
function chunksOf(frames: readonly Frame[]): string[] {
  const chunks: string[] = [];
  for (const { task, artifactUpdate } of frames) {
    if (task || (artifactUpdate && !artifactUpdate.append)) chunks.length = 0;
    const parts =
      artifactUpdate?.artifact.parts ?? task?.artifacts?.flatMap((artifact) => artifact.parts) ?? [];
    chunks.push(...parts.map(({ text }) => text.trim()));
  }
  return chunks;
}
const isOver = (frames: readonly Frame[]) =>
  frames.some(({ statusUpdate }) => statusUpdate?.status.state === 'TASK_STATE_COMPLETED');

describe.runIf(isThere)(`Two replicas behind nginx${why}`, () => {
  const site = new Site();
  beforeAll(() => site.open(2, QUIET.readTimeout, { PARLEY_SSE_HEARTBEAT_MS: QUIET.heartbeatMs }));
  afterAll(() => site.close());

  it.each(BINDINGS)('answer on %s', async (binding) => {
    const { reply } = await send(site.nginx, binding, 'hello');
    expect(reply).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } });
  });

  it.each(BINDINGS)(
    'show an event on %s when it happens, not when the stream ends (B27)',
    async (binding) => {
      const stream = follow(site.nginx, binding, 'chunks 2 1500');
      await vi.waitUntil(() => chunksOf(stream.frames).length > 0, { timeout: 20_000, interval: 5 });
      expect(chunksOf(stream.frames)).toEqual(['chunk 1']);
      expect(await stream.ended).toBe('end');
      expect(chunksOf(stream.frames)).toEqual(['chunk 1', 'chunk 2']);
    },
  );

  it.concurrent.each(BINDINGS)(
    'keep a stream on %s that is quiet for longer than nginx waits (B27)',
    async (binding) => {
      const stream = follow(site.nginx, binding, `sleep ${QUIET.ms}`);
      expect(await stream.ended).toBe('end');
      expect(isOver(stream.frames)).toBe(true);
    },
    240_000,
  );

  it('say in their own words what is too large', async () => {
    const { status, reason } = await send(site.nginx, 'HTTP+JSON', 'x'.repeat(10.5 * 1024 * 1024));
    expect({ status, reason }).toEqual({ status: 413, reason: 'PAYLOAD_TOO_LARGE' });
  });
});

describe.runIf(isThere)(`Three replicas behind nginx that are restarted one after the other${why}`, () => {
  const site = new Site();
  beforeAll(() => site.open(3, '60s', { PARLEY_DRAIN_MS: '500' }));
  afterAll(() => site.close());

  it('fail no call and lose nothing of a stream', async () => {
    const failures: unknown[] = [];
    let isRolling = true;
    const repeat = async (work: () => Promise<void>) => {
      while (isRolling) await work().catch((error) => failures.push(error));
    };
    let calls = 0;
    const lanes = BINDINGS.map((binding) =>
      repeat(async () => {
        const answer = await retried(() => send(site.nginx, binding, 'hello'), binding);
        calls++;
        if (answer.reply === undefined) failures.push(answer);
      }),
    );
    const resumes = { JSONRPC: 0, 'HTTP+JSON': 0, GRPC: 0 };
    const readers = [...BINDINGS, ...BINDINGS].map((binding) =>
      repeat(async () => {
        const story = await followToTheEnd(site.nginx, binding, `chunks ${CHUNKS.length} 250`);
        resumes[binding] += story.resumes;
        expect(story.chunks).toEqual(CHUNKS);
      }),
    );

    const codes: (number | null)[] = [];
    try {
      // Once around, and once more where by chance no stream of a binding was on the replica that went down.
      do {
        for (const index of site.replicas.keys()) codes.push(await site.restart(index));
      } while (Object.values(resumes).includes(0) && codes.length < MOST_RESTARTS);
    } finally {
      isRolling = false;
      await Promise.all([...lanes, ...readers]);
    }

    expect(failures).toEqual([]);
    expect(codes.every((code) => code === 0)).toBe(true);
    expect(calls).toBeGreaterThan(100);
    expect(Object.values(resumes).some((count) => count > 0)).toBe(true);
    console.info(`${calls} calls, none failed; streams resumed: ${JSON.stringify(resumes)}`);
  }, 300_000);
});

const MOST_RESTARTS = 6;
const CHUNKS = Array.from({ length: 20 }, (_, n) => `chunk ${n + 1}`);

/** nginx cannot see a status of gRPC, so UNAVAILABLE is for the client to try again, as gRPC's retry policies do. */
function retried(call: () => Promise<Answer>, binding: AnyCall['binding']): Promise<Answer> {
  const UNAVAILABLE = 14;
  if (binding !== 'GRPC') return call();
  const patience = { timeout: 20_000, interval: 200 };
  return vi.waitUntil(async () => {
    const answer = await call();
    return answer.status === UNAVAILABLE ? undefined : answer;
  }, patience);
}

/** Opens the stream again after its last event whenever it ends before the task. */
async function followToTheEnd(address: ServiceAddress, binding: AnyCall['binding'], text: string) {
  let stream = follow(address, binding, text);
  const frames: Frame[] = [];
  let lastEventId: string | undefined;
  for (let resumes = 0; ; resumes++) {
    await stream.ended;
    frames.push(...stream.frames);
    lastEventId = stream.lastEventId() ?? lastEventId;
    if (isOver(frames)) return { chunks: chunksOf(frames), resumes };
    const id = frames.find(({ task }) => task)?.task?.id;
    // Refused before it began: by a replica that goes down, on gRPC.
    if (id === undefined) stream = follow(address, binding, text);
    else
      stream = openStream(address, { binding, operation: 'subscribeToTask', request: { id }, lastEventId });
  }
}
