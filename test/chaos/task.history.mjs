import { isTerminal } from './journal.mjs';

/** The numbers of states in the table are those of the proto. */
const CHUNKS = /^chunks (\d+)/;

/**
 * A task as the table has it.
 * @typedef {{id: string, state: string, version: number, direct: boolean, leased: boolean, attempt: number, runs: number,
 *   log: {seq: number, event: any, delivered: boolean, at: number}[]}} TaskHistory
 */

/** The text of each artifact, and the state, after the first `count` events. @param {TaskHistory} task */
export function fold({ log }, count = log.length) {
  const texts = new Map();
  let state;
  for (const { event } of log.slice(0, count)) {
    state = (event.task ?? event.statusUpdate)?.status.state ?? state;
    if (!event.artifactUpdate) continue;
    const { artifact, append } = event.artifactUpdate;
    const before = append ? (texts.get(artifact.artifactId) ?? '') : '';
    texts.set(artifact.artifactId, before + textOf(artifact));
  }
  return { state, texts };
}

/** The same of a task that somebody was shown. */
export function shown({ status, artifacts = [] }) {
  return { state: status.state, texts: new Map(artifacts.map((each) => [each.artifactId, textOf(each)])) };
}

const textOf = ({ parts }) => parts.map(({ text }) => text).join('');

/** What is wrong with a task's log in itself. @param {TaskHistory} task @returns {string | undefined} */
export function flawOf(task) {
  const { log, version, state } = task;
  const gap = log.findIndex(({ seq }, index) => seq !== index + 1);
  if (gap >= 0) return `has event ${log[gap].seq} where ${gap + 1} was due`;
  if (log.length !== version) return `has version ${version} and ${log.length} events`;
  const ends = log.filter(({ event }) => isTerminal(event.statusUpdate?.status.state ?? ''));
  if (ends.length > 1) return `ended ${ends.length} times`;
  if (ends.length === 1 && ends[0] !== log.at(-1)) return 'goes on after its end';
  if (!task.direct && fold(task).state !== state)
    return `is ${state} in its row, ${fold(task).state} in its log`;
  const messages = log.filter(({ delivered }) => delivered).map(({ event }) => idOf(event));
  if (new Set(messages).size < messages.length) return 'has a message twice';
  return undefined;
}

const idOf = ({ task, message }) => (message ?? task?.history[0])?.messageId;

/**
 * What is wrong with the answer of a COMPLETED task, whose last message was `text`. A turn that ran again may
 * echo twice, as another artifact; chunks replace those of the turn before.
 */
export function wrongAnswer(task, text) {
  const { texts } = fold(task);
  const wanted = answerTo(text);
  if (texts.size === 0) return 'has no artifact';
  const other = [...texts.values()].find((value) => value !== wanted);
  return other === undefined ? undefined : `answers ${JSON.stringify(text)} with ${excerpt(other)}`;
}

function answerTo(text) {
  const [, count] = CHUNKS.exec(text) ?? [];
  if (count === undefined) return text;
  return Array.from({ length: Number(count) }, (_, index) => `chunk ${index + 1}\n`).join('');
}

const excerpt = (text) =>
  JSON.stringify(text.length > 100 ? `${text.slice(0, 50)}…${text.slice(-50)}` : text);

/**
 * When the log stood still each time a turn of chunks was begun again somewhere else, in milliseconds since the epoch.
 * @param {TaskHistory} task
 * @returns {{from: number, to: number}[]}
 */
export function pauses({ log }) {
  const restarts = log.filter(({ event, seq }) => {
    const before = log[seq - 2];
    return event.statusUpdate?.status.state === 'TASK_STATE_WORKING' && before?.event.artifactUpdate;
  });
  return restarts.map(({ at, seq }) => ({ from: log[seq - 2].at, to: at }));
}
