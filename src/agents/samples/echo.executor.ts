import { AGENT_SETTINGS, type AgentDefinition } from '../agent.definition.js';
import {
  artifact,
  authRequired,
  completed,
  failed,
  inputRequired,
  message,
  rejected,
  textOf,
  textPart,
  working,
} from '../agent.events.js';
import { type AgentEvent, AgentExecutor, type TurnContext } from '../agent.executor.js';
import { pause } from './turn.pause.js';

type Command = (turn: TurnContext, rest: string) => AsyncIterable<AgentEvent> | Iterable<AgentEvent>;

/** Every turn looks at its own message only, so an answer to `ask` is echoed or obeyed like any other text. */
const COMMANDS: Readonly<Record<string, Command>> = {
  chunks: (turn, rest) => (/^\d/.test(rest) ? chunks(turn, rest) : echoed(turn)),
  sleep: (turn, rest) => (/^\d/.test(rest) ? afterwards(turn, Number.parseInt(rest, 10)) : echoed(turn)),
  fail: (_, rest) => [failed(rest || 'Failed as asked')],
  throw: (_, rest) => {
    throw new Error(rest || 'Thrown as asked');
  },
  reject: (_, rest) => [rejected(rest || 'Rejected as asked')],
  ask: (_, rest) => [inputRequired(rest || 'What shall I echo?')],
  auth,
  message: (_, rest) => [message(rest || 'A direct message')],
  silent: () => [],
};

export class EchoExecutor extends AgentExecutor {
  async *execute(turn: TurnContext): AsyncIterable<AgentEvent> {
    const [, word, rest] = /^(\w*)\s*(.*)$/s.exec(textOf(turn.message.parts)) ?? [];
    const command = Object.hasOwn(COMMANDS, word ?? '') ? COMMANDS[word ?? ''] : undefined;
    yield* command ? command(turn, rest ?? '') : echoed(turn);
  }
}

function echoed(turn: TurnContext): AgentEvent[] {
  return [artifact({ parts: [...turn.message.parts] }), completed()];
}

async function* chunks(turn: TurnContext, rest: string): AsyncIterable<AgentEvent> {
  const [count = 0, ms = 0] = rest.split(/\s+/).map((word) => Number.parseInt(word, 10) || 0);
  yield working();
  for (let n = 1; n <= count; n++) {
    if (turn.signal.aborted || (ms > 0 && n > 1 && !(await pause(turn, ms)))) return;
    const parts = [textPart(`chunk ${n}\n`)];
    yield artifact({ artifactId: 'chunks', parts }, { append: n > 1, lastChunk: n === count });
  }
  yield completed();
}

async function* afterwards(turn: TurnContext, ms: number): AsyncIterable<AgentEvent> {
  yield working();
  if (await pause(turn, ms)) yield* echoed(turn);
}

/** Ends at AUTH_REQUIRED until an operator answers; `auth MS` goes on by itself after that time. */
async function* auth(turn: TurnContext, rest: string): AsyncIterable<AgentEvent> {
  if (turn.approval) {
    yield* turn.approval.approved ? echoed(turn) : [rejected(turn.approval.reason ?? 'Not approved')];
    return;
  }
  yield authRequired('An operator has to approve this');
  const ms = Number.parseInt(rest, 10);
  if (ms >= 0 && (await pause(turn, ms))) yield* echoed(turn);
}

export const echo: AgentDefinition = {
  id: 'echo',
  name: 'Echo',
  description:
    'Returns what it is sent as an artifact. A first word may ask for more: chunks N [ms], sleep MS, fail, ' +
    'throw, reject, ask, auth [ms], message, silent.',
  version: '1.0.0',
  skills: [
    {
      id: 'echo',
      name: 'Echo',
      description: 'Returns the parts of the message as an artifact, or plays one of the commands.',
      tags: ['echo', 'test'],
      examples: ['hello', 'chunks 5 200', 'sleep 1000', 'ask'],
    },
  ],
  defaultInputModes: ['text/plain', 'application/json', 'application/octet-stream'],
  defaultOutputModes: ['text/plain', 'application/json', 'application/octet-stream'],
  streaming: true,
  settings: { ...AGENT_SETTINGS, directReplies: true, v03: true, crash: { retries: 3 } },
  executor: new EchoExecutor(),
};
