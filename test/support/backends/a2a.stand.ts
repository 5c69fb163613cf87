import { AgentCard, type Message } from '@a2a-js/sdk';
import {
  AgentEvent,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import express from 'express';
import { Death, play } from './script.mjs';
import { Count, type Stand, serve } from './stand.js';

const STATES: Readonly<Record<string, number>> = { status: 2, done: 3, fail: 4, ask: 6, auth: 8 };

/** An agent on the public SDK's own server, which is not ours. */
export async function a2aStand(
  binding: 'JSONRPC' | 'HTTP+JSON',
): Promise<Stand & { cancelled(): readonly string[] }> {
  const agent = new ScriptedAgent();
  const app = express();
  const server = await serve(app);
  const url = `${server.url}/${binding === 'JSONRPC' ? 'jsonrpc' : 'rest'}`;
  const card = AgentCard.fromJSON({
    name: 'Other',
    description: 'Somebody else',
    version: '1',
    supportedInterfaces: [{ url, protocolBinding: binding, protocolVersion: '1.0' }],
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'all', name: 'All', description: 'All', tags: ['all'] }],
  });
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), agent);
  const userBuilder = UserBuilder.noAuthentication;
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  app.use('/jsonrpc', garbage, jsonRpcHandler({ requestHandler, userBuilder }));
  app.use('/rest', garbage, restHandler({ requestHandler, userBuilder }));
  return {
    backend: { kind: 'a2a', url: server.url },
    requests: server.requests,
    running: () => agent.count.now,
    cancelled: () => agent.cancelled,
    begun: () => agent.count.ever,
    close: () => server.close(),
  };
}

/** What no A2A server says. */
const garbage: express.RequestHandler = (request, response, next) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString();
    if (body.includes('"garbage"')) {
      response.type('text/event-stream').send('data: <html>secret of the inside</html>\n\n');
      return;
    }
    request.body = body && JSON.parse(body);
    next();
  });
};

class ScriptedAgent {
  readonly count = new Count();
  readonly cancelled: string[] = [];
  readonly #running = new Map<string, AbortController>();

  async execute(
    { userMessage, taskId, contextId, task }: RequestContext,
    bus: ExecutionEventBus,
  ): Promise<void> {
    const abort = new AbortController();
    this.#running.set(taskId, abort);
    const history = [...(task?.history ?? [])].filter(({ messageId }) => messageId !== userMessage.messageId);
    const request = { message: plain(userMessage), history: [...history, userMessage].map(plain) };
    const at = { taskId, contextId };
    bus.publish(
      AgentEvent.task({
        id: taskId,
        contextId,
        status: state(1),
        artifacts: [],
        history: [...history, userMessage],
        metadata: undefined,
      }),
    );
    await this.count.during(async () => {
      try {
        for await (const event of play(request, abort.signal)) bus.publish(agentEvent(at, event));
        if (abort.signal.aborted)
          bus.publish(AgentEvent.statusUpdate({ ...at, status: state(5), metadata: undefined }));
      } catch (error) {
        if (!(error instanceof Death)) throw error;
        const status = state(4, 'It died');
        bus.publish(AgentEvent.statusUpdate({ ...at, status, metadata: undefined }));
      }
    });
    bus.finished();
  }

  cancelTask = async (taskId: string): Promise<void> => {
    this.cancelled.push(taskId);
    this.#running.get(taskId)?.abort();
  };
}

function plain({ parts }: Message) {
  return { parts: parts.map(({ content }) => ({ text: content?.value })) };
}

const part = (text: string) => ({
  content: { $case: 'text' as const, value: text },
  filename: '',
  mediaType: '',
  metadata: undefined,
});

function state(state: number, text?: string) {
  const message =
    text === undefined
      ? undefined
      : {
          messageId: crypto.randomUUID(),
          contextId: '',
          taskId: '',
          role: 2,
          parts: [part(text)],
          metadata: undefined,
          extensions: [],
          referenceTaskIds: [],
        };
  return { state, message, timestamp: new Date().toISOString() };
}

function agentEvent(at: { taskId: string; contextId: string }, event: object | string) {
  const { type, text, id, append, last } = event as {
    type: string;
    text?: string;
    id: string;
    append?: boolean;
    last?: boolean;
  };
  if (type === 'artifact') {
    const artifact = {
      artifactId: id,
      name: id,
      description: '',
      parts: [part(text ?? '')],
      extensions: [],
      metadata: undefined,
    };
    return AgentEvent.artifactUpdate({
      ...at,
      artifact,
      append: append ?? false,
      lastChunk: last ?? false,
      metadata: undefined,
    });
  }
  return AgentEvent.statusUpdate({ ...at, status: state(STATES[type] ?? 2, text), metadata: undefined });
}
