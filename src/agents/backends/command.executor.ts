import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { environment } from '../../config/index.js';
import { artifact, completed, textOf, textPart, working } from '../agent.events.js';
import { type AgentEvent, AgentExecutor, AgentFailure, type TurnContext } from '../agent.executor.js';
import type { BackendOf } from './backend.schema.js';
import { limitedText, linesOf } from './byte.lines.js';
import { endsTurn, readEventText } from './plain.event.js';
import { recordWithSecrets } from './secret.reference.js';
import { turnRequest } from './turn.request.js';

/** From the polite signal to the one that cannot be ignored. */
const KILL_MS = 1_000;
const KEPT_ERRORS = 2_000;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * A program that is started for each turn, in a process group of its own, with an environment that holds
 * nothing of the service. It reads the message on stdin and writes text or events on stdout; exit code 0
 * completes the task, any other fails it. What it writes on stderr goes to the log alone.
 */
export class CommandExecutor extends AgentExecutor {
  constructor(
    private readonly backend: BackendOf<'command'>,
    /** Paths of the configuration start here. */
    private readonly folder: string,
  ) {
    super();
  }

  async *execute(turn: TurnContext): AsyncIterable<AgentEvent> {
    const child = this.#spawn(turn);
    const exited = exitOf(child);
    let killer: NodeJS.Timeout | undefined;
    const terminate = () => {
      killGroup(child, 'SIGTERM');
      killer = setTimeout(() => killGroup(child, 'SIGKILL'), KILL_MS);
    };
    turn.signal.addEventListener('abort', terminate, { once: true });
    if (turn.signal.aborted) terminate();
    const errors = lastOf(child.stderr);
    try {
      child.stdin.on('error', () => {}); // It need not read all, or anything.
      child.stdin.end(
        this.backend.input === 'json' ? `${JSON.stringify(turnRequest(turn))}\n` : textOf(turn.message.parts),
      );
      yield working();
      const text = limitedText(child.stdout, this.backend.maxOutputBytes);
      const ended = yield* this.backend.output === 'events' ? eventsOf(text) : chunksOf(text);
      if (ended) return;
      const code = await exited;
      if (turn.signal.aborted) return;
      if (code !== 0) throw new AgentFailure(`The agent ended with ${code}.`, { cause: errors() });
      yield completed();
    } finally {
      turn.signal.removeEventListener('abort', terminate);
      clearTimeout(killer);
      killGroup(child, 'SIGKILL');
    }
  }

  #spawn(turn: TurnContext): Child {
    const [program = '', ...args] = this.backend.command;
    const { PATH, HOME, LANG } = environment;
    return spawn(program, args, {
      cwd: resolve(this.folder, this.backend.cwd ?? '.'),
      env: {
        PATH,
        HOME,
        LANG,
        TRACEPARENT: turn.traceparent,
        ...recordWithSecrets(this.backend.env),
      },
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  }
}

async function* chunksOf(chunks: AsyncIterable<string>): AsyncGenerator<AgentEvent, boolean> {
  let append = false;
  for await (const chunk of chunks) {
    yield artifact({ artifactId: 'output', name: 'output', parts: [textPart(chunk)] }, { append });
    append = true;
  }
  return false;
}

async function* eventsOf(chunks: AsyncIterable<string>): AsyncGenerator<AgentEvent, boolean> {
  for await (const line of linesOf(chunks)) {
    const event = readEventText(line);
    yield event;
    if (endsTurn(event)) return true;
  }
  return false;
}

/** The exit code, or what killed it. Rejects where the program cannot be started. */
function exitOf(child: Child): Promise<number | string> {
  const exited = once(child, 'close').then(
    ([code, signal]) => (code as number | null) ?? String(signal),
    (cause: unknown) => {
      throw new AgentFailure('The agent cannot be started.', { cause });
    },
  );
  exited.catch(() => {}); // Awaited once its output has ended.
  return exited;
}

function lastOf(stream: Readable): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-KEPT_ERRORS);
  });
  return () => text;
}

/** The whole group, also when its leader has ended and left others behind. */
function killGroup({ pid }: Child, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // Nobody is left.
  }
}
