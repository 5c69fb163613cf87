import { isDeepStrictEqual } from 'node:util';
import { isTerminal } from './journal.mjs';
import { fold, shown } from './task.history.mjs';

/**
 * Holds what one connection of a stream brought to the task's log.
 * @param {import('./journal.mjs').StreamRecord} record
 * @param {import('./task.history.mjs').TaskHistory} task
 * @returns {string | undefined} what is wrong with it
 */
export function streamFlaw(record, task) {
  const { frames, whole } = record;
  const flaw = record.binding === 'GRPC' ? unnumberedFlaw(record, task) : numberedFlaw(record, task);
  if (flaw) return flaw;
  const last = frames.at(-1).event;
  const ended = whole && isTerminal((last.task ?? last.statusUpdate)?.status.state ?? '');
  if (ended && last.statusUpdate && !isDeepStrictEqual(last, task.log.at(-1).event))
    return 'ended before the log';
  return undefined;
}

function numberedFlaw({ frames, after }, task) {
  const [first] = frames;
  let seq = first.seq;
  if (first.event.task) {
    if (!isSnapshot(first.event.task, task, seq)) return `has a snapshot ${seq} that is not the log's`;
  } else if (seq !== after + 1) return `resumed after ${after} with ${seq}`;
  else if (!isEvent(first.event, task, seq)) return `has another event ${seq}`;
  for (const frame of frames.slice(1)) {
    seq += 1;
    if (frame.seq !== seq) return `has ${frame.seq} where ${seq} was due`;
    if (!isEvent(frame.event, task, seq)) return `has another event ${seq}`;
  }
  return undefined;
}

/** gRPC tells no numbers: there has to be a place in the log where snapshot and events fit. A resumed one has its place. */
function unnumberedFlaw({ frames, after }, task) {
  const [first, ...rest] = frames;
  if (!first.event.task) {
    if (after === undefined) return 'does not begin with the task';
    const other = frames.findIndex(({ event }, index) => !isEvent(event, task, after + 1 + index));
    return other < 0 ? undefined : `resumed after ${after} with another event in place ${other + 1}`;
  }
  const fits = task.log.some(({ seq }) => {
    const follows = rest.every(({ event }, index) => isEvent(event, task, seq + 1 + index));
    return follows && isSnapshot(first.event.task, task, seq);
  });
  return fits
    ? undefined
    : `has ${rest.length} events after its snapshot that are nowhere in a row in the log`;
}

const isEvent = (event, { log }, seq) => isDeepStrictEqual(event, log[seq - 1]?.event);
const isSnapshot = (snapshot, task, seq) => isDeepStrictEqual(shown(snapshot), fold(task, seq));
