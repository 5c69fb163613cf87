import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import pg from 'pg';
import { TaskState } from '../../dist/protocol/index.js';
import { isAtRest, isTerminal } from './journal.mjs';
import { streamFlaw } from './stream.check.mjs';
import { flawOf, fold, pauses, shown, wrongAnswer } from './task.history.mjs';

const BATCH = 200;
const REREAD = 100;
const LOOK_MS = 250;
const MOST_TRIES = 120;

const HISTORY = `
SELECT id, state, version::int, direct, attempt, attempt - handovers AS runs, lease_until IS NOT NULL AS leased, (
  SELECT json_agg(json_build_object('seq', seq, 'event', payload, 'delivered', request IS NOT NULL,
    'at', extract(epoch FROM recorded_at) * 1000) ORDER BY seq)
  FROM task_events WHERE task_id = tasks.id
) AS log
FROM tasks WHERE id = ANY($1)`;

/** @type {Record<string, string>} what the audit looks for, in the order of its table */
export const CHECKS = {
  lost: 'accepted tasks that are gone',
  stuck: 'tasks neither ended nor waiting for somebody',
  leases: 'leases that outlived their turn',
  doubled: 'messages that led to two tasks',
  log: 'logs with a gap, a double or a second end',
  answer: 'completed tasks with another answer than was asked for',
  failed: 'tasks that failed though their turn could run again',
  told: 'ends that a client was told and that are not so',
  stream: "streams with a gap, a double or another event than the log's",
  reread: 'tasks that a replica shows otherwise than the log',
  wrong: 'answers that no fault excuses',
  silent: 'clients that gave up after two minutes of trying',
};

/** Holds what the clients were told to what the database has. */
export class Audit {
  /** @type {Record<keyof typeof CHECKS, string[]>} */
  findings = Object.fromEntries(Object.keys(CHECKS).map((check) => [check, []]));
  figures = { tasks: 0, events: 0, streams: 0, frames: 0, resumed: {}, states: {}, attempts: {}, pauses: [] };
  /** Each stream with a flaw, and the log that it should have shown. */
  evidence = [];
  #streams = new Map();

  /**
   * @param {{databaseUrl: string, journal: import('./journal.mjs').Journal, alone: boolean, maxAttempts: number}}
   *   given `alone`: nobody else uses the database, so that every task in it counts
   */
  constructor(given) {
    Object.assign(this, given);
    this.pool = new pg.Pool({ connectionString: given.databaseUrl, max: 2 });
    this.pool.on('error', () => undefined);
  }

  /** Waits until no turn runs any more, at most so long. */
  async settle(ms) {
    const end = performance.now() + ms;
    while (performance.now() < end) {
      const { rows } = await this.pool.query(
        'SELECT 1 FROM tasks WHERE lease_until IS NOT NULL AND ($1 OR id = ANY($2)) LIMIT 1',
        [this.alone, this.alone ? [] : [...this.journal.tasks.keys()]],
      );
      if (rows.length === 0) return;
      await delay(LOOK_MS);
    }
  }

  /** @param {import('./callers/caller.mjs').Caller[]} callers that show some of the tasks once more */
  async run(callers) {
    const { journal, findings } = this;
    findings.wrong.push(...journal.wrong);
    findings.silent.push(...journal.gaveUp);
    for (const [messageId, tasks] of journal.messages) {
      if (tasks.size > 1) findings.doubled.push(`${messageId}: ${[...tasks].join(', ')}`);
    }
    for (const record of journal.streams) {
      const known = this.#streams.get(record.taskId) ?? [];
      this.#streams.set(record.taskId, [...known, record]);
    }
    const ids = new Set([...journal.tasks.keys(), ...(this.alone ? await this.#allIds() : [])]);
    const list = [...ids];
    for (let at = 0; at < list.length; at += BATCH) await this.#batch(list.slice(at, at + BATCH), callers);
    await this.pool.end();
  }

  /** Nothing found, and something to find it in. */
  get passed() {
    return this.figures.tasks > 0 && Object.values(this.findings).every((found) => found.length === 0);
  }

  async #allIds() {
    return (await this.pool.query('SELECT id FROM tasks')).rows.map(({ id }) => id);
  }

  async #batch(ids, callers) {
    const { rows } = await this.pool.query(HISTORY, [ids]);
    const found = new Map(
      rows.map((row) => [row.id, { ...row, state: `TASK_STATE_${TaskState[row.state]}` }]),
    );
    for (const id of ids) {
      const task = found.get(id);
      if (!task?.log) this.findings.lost.push(id);
      else this.#check(task);
    }
    await this.#reread([...found.values()], callers);
  }

  #check(task) {
    const { findings, figures } = this;
    const { id, state, attempt, runs } = task;
    figures.tasks += 1;
    figures.events += task.log.length;
    figures.states[state] = (figures.states[state] ?? 0) + 1;
    figures.attempts[attempt] = (figures.attempts[attempt] ?? 0) + 1;
    figures.pauses.push(...pauses(task));
    if (!isAtRest(state)) findings.stuck.push(`${id} is ${state}, attempt ${attempt}`);
    if (task.leased) findings.leases.push(`${id}, ${state}`);
    const flaw = flawOf(task);
    if (flaw) findings.log.push(`${id} ${flaw}`);
    if (state === 'TASK_STATE_FAILED' && runs < this.maxAttempts) {
      const reason = JSON.stringify(task.log.at(-1).event.statusUpdate?.status.message?.parts);
      findings.failed.push(`${id}, attempt ${attempt}: ${reason}`);
    }
    this.#checkTold(task);
    for (const record of this.#streams.get(id) ?? []) this.#checkStream(record, task);
  }

  #checkTold(task) {
    const known = this.journal.tasks.get(task.id);
    if (!known) return;
    if (known.told && known.told !== task.state) {
      this.findings.told.push(`${task.id}: told ${known.told}, is ${task.state}`);
    }
    const wrong = task.state === 'TASK_STATE_COMPLETED' && wrongAnswer(task, known.texts.at(-1));
    if (wrong) this.findings.answer.push(`${task.id} ${wrong}`);
  }

  #checkStream(record, task) {
    this.figures.streams += 1;
    this.figures.frames += record.frames.length;
    if (record.after !== undefined) {
      const { resumed } = this.figures;
      resumed[record.binding] = (resumed[record.binding] ?? 0) + 1;
    }
    const flaw = streamFlaw(record, task);
    if (!flaw) return;
    this.findings.stream.push(`${task.id} on ${record.binding} ${flaw}`);
    this.evidence.push({ flaw, record, log: task.log });
  }

  /** Snapshots in the table are made by the service: what it shows has to be what the log says. */
  async #reread(tasks, callers) {
    const ended = tasks.filter(({ id, state }) => isTerminal(state) && this.journal.tasks.has(id));
    await Promise.all(
      ended.slice(0, REREAD).map(async (task, index) => {
        const { seen, binding } = await showAgain(task.id, callers, index);
        if (!isDeepStrictEqual(seen, fold(task))) this.findings.reread.push(`${task.id} on ${binding}`);
      }),
    );
  }
}

/** The task as one caller after another shows it: replicas of a running deployment may be down at any time. */
async function showAgain(id, callers, first) {
  for (let at = first; ; at += 1) {
    const { binding } = callers[at % callers.length];
    try {
      return { binding, seen: shown(await callers[at % callers.length].call('get', { id })) };
    } catch (error) {
      if (!error.passing || at === first + MOST_TRIES) return { binding, seen: error.message };
      await delay(LOOK_MS);
    }
  }
}
