import { create, type JsonObject, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type AgentEvents,
  type AgentExecutor,
  Inbox,
  type TurnContext,
  textPart,
} from '../../src/agents/index.js';
import {
  type Message,
  MessageSchema,
  Role,
  type StreamResponse,
  StreamResponseSchema,
  TaskSchema,
  TaskState,
} from '../../src/protocol/index.js';

type MessageInit = MessageInitShape<typeof MessageSchema>;

export interface FakeTurnOptions
  extends Partial<Omit<TurnContext, 'message' | 'history' | 'task' | 'inbox'>> {
  /** Text of the message that starts the turn. */
  readonly text?: string;
  /** More of that message; `parts` replaces the text. */
  readonly message?: MessageInit;
  /** What was said before, oldest first: a string is a message of the caller. */
  readonly before?: readonly (string | MessageInit)[];
  /** Messages that wait in the inbox. */
  readonly inbox?: readonly string[];
  readonly metadata?: JsonObject;
}

let messages = 0;

function messageOf(init: string | MessageInit): Message {
  const message = typeof init === 'string' ? { parts: [textPart(init)] } : init;
  return create(MessageSchema, { messageId: `message-${++messages}`, role: Role.USER, ...message });
}

class FakeInbox extends Inbox {
  readonly #unread: Message[];

  constructor(texts: readonly string[]) {
    super();
    this.#unread = texts.map(messageOf);
  }

  take(): Message | undefined {
    return this.#unread.shift();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Message> {
    while (this.#unread.length > 0) yield this.#unread.shift()!;
  }
}

/** A turn as the runner would give it, for driving an executor alone. */
export function fakeTurn(options: FakeTurnOptions = {}): TurnContext {
  const { text = '', message, before = [], inbox = [], ...rest } = options;
  const history = [...before, { parts: [textPart(text)], ...message }].map(messageOf);
  return {
    task: create(TaskSchema, {
      id: 'task-1',
      contextId: 'context-1',
      status: { state: TaskState.SUBMITTED },
      history,
    }),
    message: history.at(-1)!,
    history,
    inbox: new FakeInbox(inbox),
    signal: new AbortController().signal,
    acceptedOutputModes: [],
    metadata: {},
    extensions: [],
    principal: { organisation: 'default', subject: 'tester', scopes: new Set() },
    headers: {},
    trigger: 1,
    attempt: 1,
    crashes: 0,
    earlierTasks: async () => [],
    referencedTasks: async () => [],
    ...rest,
  };
}

/** All that the executor says in that turn, as messages of the protocol. */
export async function eventsOf(executor: AgentExecutor, turn: TurnContext): Promise<StreamResponse[]> {
  const events: StreamResponse[] = [];
  for await (const said of executor.execute(turn)) events.push(...[said].flat().map(responseOf));
  return events;
}

/** Of an executor that says one thing at a time. */
export function responseOf(said: AgentEvents): StreamResponse {
  const [payload] = [said].flat();
  return create(StreamResponseSchema, { payload });
}

/** One line per event: `WORKING text`, `artifact id: text`, `message text`. For comparing whole turns at a glance. */
export function told({ payload }: StreamResponse): string {
  if (payload.case === 'statusUpdate') {
    const { state, message } = payload.value.status!;
    return [TaskState[state], ...texts(message?.parts)].join(' ');
  }
  if (payload.case === 'artifactUpdate') {
    const { artifact, append, lastChunk } = payload.value;
    const how = `${append ? '+' : ''}${lastChunk ? '.' : ''}`;
    return [`artifact${how && ` ${how}`}`, ...texts(artifact?.parts)].join(' ');
  }
  return [payload.case, ...texts(payload.case === 'message' ? payload.value.parts : [])].join(' ');
}

function texts(parts: Message['parts'] = []): string[] {
  return parts.map(({ content }) => (content.case === 'text' ? content.value : `(${content.case})`));
}
