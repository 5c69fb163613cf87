import { EXTENSION_URIS, TaskState } from '../../protocol/index.js';
import { AGENT_SETTINGS, type AgentDefinition } from '../agent.definition.js';
import {
  artifact,
  authRequired,
  completed,
  failed,
  inputRequired,
  message,
  rejected,
  status,
  textOf,
  textPart,
  working,
} from '../agent.events.js';
import { type AgentEvent, AgentExecutor, type TurnContext } from '../agent.executor.js';
import { declared, extended, type Progress } from '../extensions/index.js';
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
  ask: (_, rest) => [inputRequired({ id: 'echo', kind: 'text', text: rest || 'What shall I echo?' })],
  auth,
  extensions,
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
  yield authRequired({ id: 'echo', kind: 'approval', text: 'An operator has to approve this' });
  const ms = Number.parseInt(rest, 10);
  if (ms >= 0 && (await pause(turn, ms))) yield* echoed(turn);
}

/** One thing of each extension, `ask` and `auth` aside. */
function* extensions(turn: TurnContext): Iterable<AgentEvent> {
  const plan = (first: StepState, second: StepState): Progress['steps'] => [
    { id: 'write', title: 'Write a file', state: first },
    { id: 'tell', title: 'Tell of it', state: second },
  ];
  yield status(TaskState.WORKING, 'Writing', extended({ progress: plan('active', 'pending') }));
  const text = 'hello\n';
  const file = { path: 'hello.txt', version: 1, change: 'created', size: text.length } as const;
  const metadata = extended({ file });
  yield artifact({ name: file.path, parts: [textPart(text)], metadata, extensions: [EXTENSION_URIS.files] });
  const effect = { action: 'echo', target: 'the caller', outcome: 'done' } as const;
  const usage = { durationMs: 1, traceId: turn.traceparent?.split('-')[1] };
  const told = extended({ progress: plan('done', 'done'), effects: [effect], usage });
  yield status(TaskState.COMPLETED, 'Told', told);
}

type StepState = Progress['steps'][number]['state'];

export const echo: AgentDefinition = {
  id: 'echo',
  name: 'Echo',
  description:
    'Returns what it is sent as an artifact. A first word may ask for more: chunks N [ms], sleep MS, fail, ' +
    'throw, reject, ask, auth [ms], extensions, message, silent.',
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
  extensions: declared('approvals/v1', 'progress/v1', 'usage/v1', 'effects/v1', 'files/v1'),
  streaming: true,
  settings: { ...AGENT_SETTINGS, directReplies: true, v03: true, crash: { retries: 3 } },
  executor: new EchoExecutor(),
};
