// @ts-check
/** What the agents of the back end tests do, in the words of plain events. The text of the message decides. */

const BIG = 5 * 1024 * 1024;

/** Stands for an agent that dies in the middle of its work. */
export class Death extends Error {}

/**
 * @param {any} request a turn as back ends send it
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<any, void, undefined>} events; a string is written as it is
 */
export async function* play(request, signal) {
  const text = textOf(request.message);
  if (request.approval) return yield* answer(`Approved by ${request.approval.by}`);
  if (request.history.length > 1 && textOf(request.history[0]) === 'ask')
    return yield* answer(`You said ${text}`);
  switch (text) {
    case 'stream':
      yield { type: 'status', text: 'counting' };
      for (const n of [1, 2, 3])
        yield { type: 'artifact', id: 'count', text: `${n} `, append: n > 1, last: n === 3 };
      yield { type: 'done' };
      return;
    case 'ask':
      yield { type: 'ask', text: 'Which one?' };
      return;
    case 'auth':
      yield { type: 'auth', text: 'May I?' };
      return;
    case 'wait':
      yield { type: 'status', text: 'waiting' };
      await aborted(signal);
      return;
    case 'silent':
      await aborted(signal);
      return;
    case 'die':
      yield { type: 'artifact', id: 'half', text: 'half of ' };
      throw new Death('secret of the inside');
    case 'garbage':
      yield '<html>secret of the inside</html>';
      return;
    case 'big':
      yield* answer('x'.repeat(BIG));
      return;
    default:
      yield* answer(`${text} to you`);
  }
}

/** @param {string} text */
function* answer(text) {
  yield { type: 'artifact', id: 'answer', text };
  yield { type: 'done' };
}

/** @param {any} message */
const textOf = (message) => message.parts[0].text;

/** @param {AbortSignal} signal */
const aborted = (signal) =>
  signal.aborted ? undefined : new Promise((resolve) => signal.addEventListener('abort', resolve));
