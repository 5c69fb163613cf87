import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { Death, play } from './script.mjs';
import { Count, ownProcesses, type Stand, serve } from './stand.js';

const file = (name: string) => new URL(name, import.meta.url).pathname;

export type HttpAnswer = 'json' | 'sse' | 'ndjson' | 'callback';

interface PlainRequest {
  readonly callbackUrl?: string;
}

const TYPES = { json: 'application/json', sse: 'text/event-stream', ndjson: 'application/x-ndjson' };

/** An agent behind HTTP that answers in one of the four ways. */
export async function httpStand(answer: HttpAnswer): Promise<Stand> {
  const count = new Count();
  const cancels = new Map<string, AbortController>();
  const server = await serve(async (request, response) => {
    if (request.method === 'DELETE') {
      cancels.get(request.url ?? '')?.abort();
      response.writeHead(204).end();
      return;
    }
    const turn = JSON.parse(await text(request)) as PlainRequest;
    const left = new AbortController();
    if (answer !== 'callback') {
      response.on('close', () => left.abort());
      await count.during(() => reply(response, turn, answer, left.signal));
      return;
    }
    const path = `/work/${count.ever}`;
    cancels.set(path, left);
    response.writeHead(202, { location: path }).end();
    await count.during(() => post(turn, left.signal));
  });
  return {
    backend: { kind: 'http', url: server.url },
    requests: server.requests,
    running: () => count.now,
    begun: () => count.ever,
    close: () => server.close(),
  };
}

async function reply(
  response: ServerResponse<IncomingMessage>,
  turn: PlainRequest,
  answer: keyof typeof TYPES,
  signal: AbortSignal,
): Promise<void> {
  const events: (object | string)[] = [];
  response.writeHead(200, { 'content-type': TYPES[answer] });
  try {
    for await (const event of play(turn, signal)) {
      const json = typeof event === 'string' ? event : JSON.stringify(event);
      if (answer === 'json') events.push(event);
      else if (!response.write(answer === 'sse' ? `data: ${json}\n\n` : `${json}\n`))
        await once(response, 'drain');
    }
    response.end(
      answer === 'json' ? (typeof events[0] === 'string' ? events[0] : JSON.stringify({ events })) : '',
    );
  } catch (error) {
    if (!(error instanceof Death)) throw error;
    response.destroy();
  }
}

async function post(turn: PlainRequest, signal: AbortSignal): Promise<void> {
  for await (const event of play(turn, signal)) {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(turn.callbackUrl ?? '', {
      method: 'POST',
      headers,
      body: JSON.stringify(event),
    });
    if (response.status !== 204) throw new Error(`The callback was answered with ${response.status}`);
  }
}

/** An agent that is a program. */
export async function commandStand(): Promise<Stand> {
  const agent = file('command.agent.mjs');
  const { mark, running, close } = ownProcesses();
  return {
    backend: { kind: 'command', command: [process.execPath, agent, mark], input: 'json', output: 'events' },
    requests: [],
    running,
    begun: () => 0,
    close,
  };
}

/** An agent that is a module of this process. */
export async function moduleStand(): Promise<Stand> {
  return {
    backend: { kind: 'module', path: file('module.agent.mjs') },
    requests: [],
    running: () => (globalThis as { parleyModuleRuns?: number }).parleyModuleRuns ?? 0,
    begun: () => 0,
    close: async () => {},
  };
}
