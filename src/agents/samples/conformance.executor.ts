import { AGENT_SETTINGS, type AgentDefinition } from '../agent.definition.js';
import {
  artifact,
  authRequired,
  completed,
  dataPart,
  failed,
  inputRequired,
  message,
  type PartInit,
  rejected,
  textOf,
  textPart,
  working,
} from '../agent.events.js';
import { type AgentEvent, AgentExecutor, type TurnContext } from '../agent.executor.js';
import { pause, untilAborted } from './turn.pause.js';

type Script = (turn: TurnContext) => AsyncIterable<AgentEvent> | Iterable<AgentEvent>;

const file = { filename: 'output.txt', mediaType: 'text/plain' };
const RAW: PartInit = { ...file, content: { case: 'raw', value: Buffer.from('tck') } };
const URL_PART: PartInit = { ...file, content: { case: 'url', value: 'https://example.com/output.txt' } };

const done = (part: PartInit) => [artifact({ parts: [part] }), completed()];
const workedOn = (part: PartInit) => [working(), ...done(part)];
const chunked = (...texts: string[]) => [
  working(),
  ...texts.map((text, i) =>
    artifact({ parts: [textPart(text)] }, { append: i > 0, lastChunk: i === texts.length - 1 }),
  ),
  completed(),
];

/** WORKING for that long, then the events. */
function after(ms: number, ...events: (() => AgentEvent)[]): Script {
  return async function* (turn) {
    yield working();
    if (await pause(turn, ms)) yield* events.map((event) => event());
  };
}

/** What the conformance kits expect, by the prefix of the message id. */
const SCRIPTS: Readonly<Record<string, Script>> = {
  'tck-complete-task': () => [completed('Hello from TCK')],
  'tck-input-required': () => [inputRequired()],
  'tck-artifact-text': () => done(textPart('Generated text content')),
  'tck-artifact-file': () => done(RAW),
  'tck-artifact-file-url': () => done(URL_PART),
  'tck-artifact-data': () => done(dataPart({ key: 'value', count: 42 })),
  'tck-message-response': () => [message('Direct message response')],
  'tck-reject-task': () => [rejected()],
  'tck-stream-001': () => workedOn(textPart('Stream hello from TCK')),
  'tck-stream-002': () => [completed()],
  'tck-stream-003': () => workedOn(textPart('Stream task lifecycle')),
  'tck-stream-ordering-001': () => workedOn(textPart('Ordered output')),
  'tck-stream-artifact-text': () => workedOn(textPart('Streamed text content')),
  'tck-stream-artifact-file': () => workedOn(RAW),
  'tck-stream-artifact-chunked': () => chunked('chunk-1 ', 'chunk-2'),
  'tck-stream-basic': () => workedOn(textPart('Streamed content')),
  'tck-stream-chunked': () => chunked('chunk-1 ', 'chunk-2 ', 'chunk-3'),
  'test-resubscribe-message-id': after(4_000, completed),
  'tck-delayed-complete': after(2_000, () => completed('Done after delay')),
  'tck-long-running': after(3_000, () => artifact({ parts: [textPart('Long-running result')] }), completed),
  'tck-auth-required': ({ approval }) => {
    if (!approval) return [authRequired()];
    return [approval.approved ? completed() : rejected(approval.reason)];
  },
  'tck-task-failure': () => [failed()],
  'tck-multi-turn': (turn) => [textOf(turn.message.parts).startsWith('done') ? completed() : inputRequired()],
  'tck-cancel': async function* (turn) {
    yield working();
    await untilAborted(turn);
  },
};

const LONGEST_FIRST = Object.keys(SCRIPTS).sort((a, b) => b.length - a.length);

/** The script of the message id, else of the first text, else the same of the task's first message. */
function scriptOf({ message, history }: TurnContext): Script | undefined {
  const names = [message, history[0] ?? message].flatMap((m) => [m.messageId, textOf(m.parts)]);
  for (const name of names) {
    const prefix = LONGEST_FIRST.find((candidate) => name.startsWith(candidate));
    if (prefix) return SCRIPTS[prefix];
  }
  return undefined;
}

export class ConformanceExecutor extends AgentExecutor {
  async *execute(turn: TurnContext): AsyncIterable<AgentEvent> {
    const script = scriptOf(turn);
    yield* script ? script(turn) : [completed(`Unhandled messageId prefix: ${turn.message.messageId}`)];
  }
}

/** Text and files of every kind; the kits take an unknown `application/` type as their example of a refused one. */
const MODES = [
  'text/*',
  'image/*',
  'audio/*',
  'video/*',
  'application/json',
  'application/octet-stream',
  'application/pdf',
  'application/xml',
  'application/zip',
];

export const conformance: AgentDefinition = {
  id: 'conformance',
  name: 'Conformance',
  description: 'Behaves as the public A2A conformance kits expect, by the prefix of the message id.',
  version: '1.0.0',
  skills: [
    {
      id: 'conformance',
      name: 'Conformance scripts',
      description: 'Plays the script that the message id, or else the text, begins with.',
      tags: ['tck', 'test'],
      examples: LONGEST_FIRST,
    },
  ],
  defaultInputModes: MODES,
  defaultOutputModes: MODES,
  streaming: true,
  settings: { ...AGENT_SETTINGS, directReplies: true, idempotentSend: false },
  executor: new ConformanceExecutor(),
};
