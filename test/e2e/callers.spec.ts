import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Binding, ProtocolVersion } from '../../src/protocol/index.js';
import type { BindingClient } from '../conformance/clients/index.js';
import { OldGrpcClient } from '../conformance/v03/old.grpc.client.js';
import { OldJsonRpcClient, OldRestClient } from '../conformance/v03/old.http.clients.js';
import { type Answer, BINDINGS, callAny } from '../support/any.binding.js';
import {
  CONFIG,
  callers,
  HOOK,
  message,
  SITUATIONS,
  type Situation,
  type Stranger,
  TASK_CALLS,
  type TaskCall,
} from '../support/caller.matrix.js';
import { AUDIENCE, OidcIssuer } from '../support/oidc.issuer.js';
import { type RunningService, startService } from '../support/service.js';

/** `npm run verify -- callers` tries every cell; `npm test` those of callers without a right in one state each. */
const FULL = process.env.PARLEY_TEST_FULL === 'true';
const ALL_SITUATIONS = Object.keys(SITUATIONS) as Situation[];
const FOREIGN: readonly Stranger[] = ['other subject', 'other organisation'];
const UNKNOWN: readonly Stranger[] = ['no credential', 'expired', 'wrong audience', 'wrong key'];
const TIMED = FULL ? 100 : 12;
/** Below this a difference is that of the clock and of other programs. */
const NOISE_MS = 1;

interface Victim {
  readonly id: string;
  readonly contextId: string;
}

/** A binding, and the version that is spoken there. */
interface Way {
  readonly binding: Binding;
  readonly version: ProtocolVersion;
}

const WAYS: readonly Way[] = (['1.0', '0.3'] as const).flatMap((version) =>
  BINDINGS.map((binding) => ({ binding, version })),
);
const TITLED = WAYS.map((way) => [`${way.binding} in ${way.version}`, way] as const);

/** 0.3 lists tasks over HTTP+JSON alone. */
const callsOf = ({ binding, version }: Way) =>
  TASK_CALLS.filter(
    ({ operation }) => operation !== 'listTasks' || version === '1.0' || binding === 'HTTP+JSON',
  );

/** Every call on every way; in the short form a third of them on each, and each on two ways. */
const TIMINGS = WAYS.flatMap((way, index) =>
  callsOf(way)
    .filter((_, place) => FULL || place % 3 === index % 3)
    .map((call) => [call.title, `${way.binding} in ${way.version}`, { way, call }] as const),
);

let issuer: OidcIssuer;
let service: RunningService;
let owner: Record<string, string>;
let strangers: Record<Stranger, Record<string, string>>;
let old: Record<Binding, BindingClient>;
const victims = {} as Record<Situation, Victim>;

beforeAll(async () => {
  issuer = await OidcIssuer.start('ES256');
  service = await startService({
    env: {
      PARLEY_OIDC_ISSUERS: issuer.url,
      PARLEY_OIDC_AUDIENCE: AUDIENCE,
      PARLEY_OIDC_ORGANISATION_CLAIM: 'org',
      PARLEY_PUSH_UNSIGNED: 'true',
      PARLEY_PUSH_KEYS: `test=${Buffer.alloc(32, 1).toString('base64')}`,
      PARLEY_PUSH_ALLOW: 'hook.example',
      PARLEY_LIMIT_FAILED_LOGINS: '0',
    },
  });
  ({ victim: owner, strangers } = await callers(issuer));
  old = {
    JSONRPC: new OldJsonRpcClient(`${service.httpUrl}/jsonrpc`),
    'HTTP+JSON': new OldRestClient(`${service.httpUrl}/rest/v1`),
    GRPC: new OldGrpcClient(service.grpcAddress, ''),
  };
  for (const situation of ALL_SITUATIONS) victims[situation] = await makeVictim(SITUATIONS[situation]);
});
afterAll(async () => {
  old?.GRPC.close();
  await service?.stop();
  await issuer?.stop();
});

async function makeVictim(text: string): Promise<Victim> {
  const request = { ...message(text), configuration: { returnImmediately: text.startsWith('sleep') } };
  const sent = await own('sendMessage', request);
  const { task } = sent.reply as unknown as { task: Victim };
  await own('createTaskPushNotificationConfig', { taskId: task.id, id: CONFIG, url: HOOK });
  return task;
}

const own = (operation: TaskCall['operation'], request: object) =>
  callAny(service, { binding: 'JSONRPC', operation, request: request as never, headers: owner });

interface Cell {
  readonly call: TaskCall;
  readonly way: Way;
  readonly stranger: Stranger;
}

/** The same call for a task, whether it is the victim's or nobody's. */
async function ask({ call, way, stranger }: Cell, { id, contextId }: Victim): Promise<Partial<Answer>> {
  const { binding, version } = way;
  const { operation } = call;
  const request = call.request(id, { contextId });
  const headers = { ...strangers[stranger], ...call.headers };
  if (version === '1.0') return callAny(service, { binding, operation, request, headers });
  const { result, refusal } = await old[binding].call(operation, request, headers);
  return refusal ?? { reply: result };
}

/** The clients of 0.3 hold the status of each reason to the table by themselves. */
const refusal = ({ binding, version }: Way, [http, grpc]: readonly [number, number], reason: string) =>
  version === '0.3' ? { reason } : { reason, status: binding === 'GRPC' ? grpc : http };

/** An answer without the ids that the question named. */
const withoutIds = (answer: Partial<Answer>, { id, contextId }: Victim) =>
  JSON.parse(JSON.stringify(answer).replaceAll(id, 'ID').replaceAll(contextId, 'CONTEXT')) as typeof answer;

const nobody = (): Victim => ({ id: crypto.randomUUID(), contextId: crypto.randomUUID() });

const cellsOf = (names: readonly Stranger[]) =>
  names.flatMap((stranger) => TITLED.map(([title, way]) => [stranger, title, way] as const));

/** Everyone's turn at another state, so that the short form sees each of them too. */
const situationsFor = (index: number) => (FULL ? ALL_SITUATIONS : [ALL_SITUATIONS[index % 3]!]);

describe('Of a task that is not theirs', () => {
  it.each(cellsOf(FOREIGN))(
    '%s on %s learns as much as of one that never was (B50, B52, B57, S002-161, S004-24)',
    async (stranger, _title, way) => {
      for (const call of callsOf(way)) {
        for (const situation of ALL_SITUATIONS) {
          const cell = { call, way, stranger };
          const [foreign, random] = [victims[situation], nobody()];
          const answer = withoutIds(await ask(cell, foreign), foreign);
          const title = `${call.title}, ${situation}`;

          expect(answer, title).toEqual(withoutIds(await ask(cell, random), random));
          if (call.title === 'list') expect(answer.reply, title).toMatchObject({ tasks: [], totalSize: 0 });
          else expect(answer.reason, title).toBe('TASK_NOT_FOUND');
        }
      }
    },
  );

  it.each(cellsOf(UNKNOWN))(
    'a caller with %s on %s learns nothing at all (S000-43, S002-159, B57)',
    async (stranger, _title, way) => {
      for (const [index, call] of callsOf(way).entries()) {
        for (const situation of situationsFor(index)) {
          const answer = await ask({ call, way, stranger }, victims[situation]);
          expect(answer, call.title).toMatchObject(refusal(way, [401, 16], 'UNAUTHENTICATED'));
        }
      }
    },
  );

  it.each(TITLED)(
    'a caller without the scope for it learns nothing on %s (S002-162, B57)',
    async (_, way) => {
      for (const [index, call] of callsOf(way).entries()) {
        for (const situation of situationsFor(index)) {
          const answer = await ask({ call, way, stranger: 'missing scope' }, victims[situation]);
          expect(answer, call.title).toMatchObject(refusal(way, [403, 7], 'PERMISSION_DENIED'));
        }
      }
    },
  );

  it.each(TIMINGS)(
    'nobody can tell with %s on %s by the time it takes (S002-161)',
    // A difference that is there is there each time; a busy machine makes one now and then.
    { retry: 3 },
    async (_, __, { way, call }) => {
      const cell = { call, way, stranger: 'other subject' } as const;
      const times: Record<Situation | 'random', number[]> = {
        running: [],
        waiting: [],
        finished: [],
        random: [],
      };
      for (let n = 0; n < TIMED; n++) {
        // Each goes first in turn, so that what the machine does besides meets all of them alike.
        const order = ([...ALL_SITUATIONS, 'random'] as const).map((_, i, all) => all[(i + n) % all.length]!);
        for (const what of order) {
          const task = what === 'random' ? nobody() : victims[what];
          times[what].push(await timed(() => ask(cell, task)));
        }
      }
      const random = median(times.random);
      for (const situation of ALL_SITUATIONS) {
        const foreign = median(times[situation]);
        expect(Math.max(foreign, random), situation).toBeLessThan(2 * Math.min(foreign, random) + NOISE_MS);
      }
    },
  );

  it.each(ALL_SITUATIONS)('nobody has changed anything of one that is %s', async (situation) => {
    const { id } = victims[situation];
    const { reply } = await own('getTask', { id });
    const { reply: configs } = await own('listTaskPushNotificationConfigs', { taskId: id });

    expect(reply).toMatchObject({ id, status: { state: STATES[situation] } });
    expect((reply as unknown as { history: readonly object[] }).history.filter(isFromUser)).toHaveLength(1);
    expect(configs).toMatchObject({ configs: [{ id: CONFIG, url: HOOK }] });
  });
});

const STATES: Record<Situation, string> = {
  running: 'TASK_STATE_WORKING',
  waiting: 'TASK_STATE_INPUT_REQUIRED',
  finished: 'TASK_STATE_COMPLETED',
};

const isFromUser = (entry: object) => 'role' in entry && entry.role === 'ROLE_USER';

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
