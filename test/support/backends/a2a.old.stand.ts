import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { AgentCard, Message, Task } from 'a2a-sdk-v03';
import {
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from 'a2a-sdk-v03/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from 'a2a-sdk-v03/server/express';
import { A2AService, UserBuilder as GrpcUserBuilder, grpcService } from 'a2a-sdk-v03/server/grpc';
import express from 'express';
import { Death, play } from './script.mjs';
import { Count, type Stand, serve } from './stand.js';

type State = Task['status']['state'];

const STATES: Readonly<Record<string, State>> = {
  status: 'working',
  done: 'completed',
  ask: 'input-required',
  auth: 'auth-required',
};

/** An agent that speaks A2A 0.3 and nothing newer, on the server of the SDK of that time. */
export async function oldA2AStand(binding: 'JSONRPC' | 'HTTP+JSON' | 'GRPC'): Promise<Stand> {
  const agent = new ScriptedAgent();
  const app = express();
  const server = await serve(app);
  const grpc = new Server();
  const port = await new Promise<number>((resolve, reject) =>
    grpc.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  const urls = {
    JSONRPC: `${server.url}/jsonrpc`,
    'HTTP+JSON': `${server.url}/rest`,
    GRPC: `127.0.0.1:${port}`,
  };
  const card: AgentCard = {
    protocolVersion: '0.3.0',
    name: 'Old',
    description: 'Of the time before',
    version: '1',
    url: urls[binding],
    preferredTransport: binding,
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'all', name: 'All', description: 'All', tags: ['all'] }],
  };
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), agent);
  const userBuilder = UserBuilder.noAuthentication;
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  app.use('/jsonrpc', jsonRpcHandler({ requestHandler, userBuilder }));
  app.use('/rest', restHandler({ requestHandler, userBuilder }));
  grpc.addService(
    A2AService,
    grpcService({ requestHandler, userBuilder: GrpcUserBuilder.noAuthentication }) as never,
  );
  return {
    backend: { kind: 'a2a', url: server.url },
    requests: server.requests,
    running: () => agent.count.now,
    begun: () => agent.count.ever,
    close: async () => {
      grpc.forceShutdown();
      await server.close();
    },
  };
}

class ScriptedAgent {
  readonly count = new Count();
  readonly #running = new Map<string, AbortController>();

  async execute(
    { userMessage, taskId, contextId, task }: RequestContext,
    bus: ExecutionEventBus,
  ): Promise<void> {
    const abort = new AbortController();
    this.#running.set(taskId, abort);
    const before = (task?.history ?? []).filter(({ messageId }) => messageId !== userMessage.messageId);
    const history = [...before, userMessage];
    const request = { message: plain(userMessage), history: history.map(plain) };
    const status = (state: State, text?: string, final = true) =>
      bus.publish({
        kind: 'status-update',
        taskId,
        contextId,
        final,
        status: { state, timestamp: new Date().toISOString(), message: said(text) },
      });
    bus.publish({ kind: 'task', id: taskId, contextId, status: { state: 'submitted' }, history });
    await this.count.during(async () => {
      try {
        for await (const event of play(request, abort.signal)) {
          const { type, text, id, append, last } = event as Record<string, never>;
          if (type !== 'artifact') {
            status(STATES[String(type)] ?? 'working', text, type !== 'status');
            continue;
          }
          const artifact = { artifactId: String(id), parts: [{ kind: 'text' as const, text: String(text) }] };
          bus.publish({ kind: 'artifact-update', taskId, contextId, artifact, append, lastChunk: last });
        }
        if (abort.signal.aborted) status('canceled');
      } catch (error) {
        if (!(error instanceof Death)) throw error;
        status('failed', 'It died');
      }
    });
    bus.finished();
  }

  cancelTask = async (taskId: string): Promise<void> => {
    this.#running.get(taskId)?.abort();
  };
}

const plain = ({ parts }: Message) => ({
  parts: parts.map((part) => ({ text: part.kind === 'text' ? part.text : '' })),
});

const said = (text: string | undefined): Message | undefined =>
  text === undefined
    ? undefined
    : {
        kind: 'message',
        role: 'agent',
        messageId: crypto.randomUUID(),
        parts: [{ kind: 'text', text }],
      };
