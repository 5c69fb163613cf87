import { setTimeout as after } from 'node:timers/promises';
import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AgentRegistry } from '../agents/index.js';
import {
  encodeMessageText,
  hiddenExtensions,
  invalidField,
  TaskSchema,
  withoutExtensions,
} from '../protocol/index.js';
import { type ChangePosition, type Changes, reachOf, TaskStore } from '../tasks/index.js';
import type { Call } from './call.js';
import { Dispatcher } from './dispatcher.js';
import { Faults } from './faults.js';
import { HttpCaller } from './http.caller.js';
import { errorAnswer } from './rest/index.js';
import { viewOf } from './task.view.js';

const LONGEST_WAIT_S = 60;
const LOOK_MS = 250;
const PAGE_SIZE = 50;
const MOST = 100;

const POSITION = /^(\d{1,15})\.([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/;

/**
 * `GET /agents/{agent}/changes?after=<cursor>&wait=<seconds>`: the caller's own tasks whose status changed, in the
 * order of the changes, so that whoever missed pushes or streams catches up (its page: change.feed.ts). Goes
 * through the dispatcher as ListTasks does.
 */
@Controller()
export class ChangesController {
  constructor(
    private readonly dispatcher: Dispatcher,
    private readonly agents: AgentRegistry,
    private readonly store: TaskStore,
    private readonly faults: Faults,
  ) {}

  @Get(['changes', 'agents/:agent/changes'])
  async changes(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const caller = new HttpCaller(request, reply);
    const { agent } = request.params as { agent?: string };
    const destination = { binding: 'HTTP+JSON', versions: ['1.0'], agent, tenant: '', caller } as const;
    let call: Call | undefined;
    try {
      call = await this.dispatcher.admit({ ...destination, operation: 'listTasks' });
      const body = await this.#page(call, caller);
      const headers: [string, string][] = [...call.reply, ['cache-control', 'no-store']];
      caller.answer({ status: 200, type: 'application/json', headers, body });
    } catch (thrown) {
      const place = call ?? { caller, operation: 'changes', binding: 'HTTP+JSON', agent };
      caller.answer(errorAnswer(this.faults.report(thrown, place)));
    }
  }

  async #page(call: Call, caller: HttpCaller): Promise<string> {
    const cursor = caller.query('after') ?? '';
    const from = cursor ? positionOf(cursor) : undefined;
    const limit = number(caller, 'pageSize', { most: MOST, least: 1 }) ?? PAGE_SIZE;
    const historyLength = number(caller, 'historyLength', { most: Number.MAX_SAFE_INTEGER }) ?? 0;
    const waitMs = (number(caller, 'wait', { most: LONGEST_WAIT_S }) ?? 0) * 1000;
    const artifacts = caller.query('includeArtifacts') === 'true';
    const { tasks, position } = await this.#wait(call, { from, limit, waitMs });
    const hidden = hiddenExtensions(call.extensions);
    const texts = tasks.map(({ task }) =>
      encodeMessageText(TaskSchema, withoutExtensions(viewOf(task, historyLength, artifacts), hidden)),
    );
    const next = position ? `${position.transaction}.${position.id}` : cursor;
    return `{"tasks":[${texts.join(',')}],"cursor":${JSON.stringify(next)}}`;
  }

  /** Looks again and again until something has changed or the wait is over. Holds no connection meanwhile. */
  async #wait(call: Call, { from, limit, waitMs }: Wanted): Promise<Changes> {
    const { signal } = call;
    const scope = reachOf(call);
    const decided = this.agents.versions(call.agent).some(({ settings }) => settings.directReplies);
    const end = performance.now() + waitMs;
    for (;;) {
      const changes = await this.store.changes({ scope, after: from, limit, decided });
      const left = end - performance.now();
      if (changes.tasks.length > 0 || left <= 0 || signal.aborted) return changes;
      await after(Math.min(LOOK_MS, left), undefined, { signal }).catch(() => undefined);
    }
  }
}

interface Wanted {
  readonly from: ChangePosition | undefined;
  readonly limit: number;
  readonly waitMs: number;
}

function positionOf(cursor: string): ChangePosition {
  const [, transaction, id] = POSITION.exec(cursor) ?? [];
  if (!transaction || !id) throw invalidField('after', 'is not a cursor of this feed');
  return { transaction: Number(transaction), id };
}

function number(caller: HttpCaller, name: string, { least = 0, most }: { least?: number; most: number }) {
  const text = caller.query(name);
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw invalidField(name, `must be a whole number from ${least} to ${most}`);
}
