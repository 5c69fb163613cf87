// The public SDK's own server, for comparison: express, its request handler, its store, the same echo agent.
// node sdk.server.mjs PORT [DATABASE_URL]; without a database the tasks stay in memory.
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { DatabaseTaskStore } from '@a2a-js/sdk/server/database';
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import express from 'express';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';

const SUBMITTED = 1;
const COMPLETED = 3;

const [port, databaseUrl] = process.argv.slice(2);

const echo = {
  async execute({ userMessage, taskId, contextId }, bus) {
    const artifact = (part, append, lastChunk) =>
      AgentEvent.artifactUpdate({
        taskId,
        contextId,
        artifact: { artifactId: 'echo', name: 'echo', description: '', parts: [part], extensions: [] },
        append,
        lastChunk,
      });
    const status = (state) => ({ state, message: undefined, timestamp: new Date().toISOString() });
    bus.publish(
      AgentEvent.task({ id: taskId, contextId, status: status(SUBMITTED), artifacts: [], history: [] }),
    );
    const text = userMessage.parts[0].content.value;
    const chunks = Number(/^chunks (\d+)$/.exec(text)?.[1] ?? 0);
    if (chunks === 0) bus.publish(artifact(textPart(text), false, true));
    for (let chunk = 1; chunk <= chunks; chunk += 1) {
      bus.publish(artifact(textPart(`chunk ${chunk} `), chunk > 1, chunk === chunks));
    }
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(COMPLETED) }));
  },
  async cancelTask() {},
};

function textPart(value) {
  return { content: { $case: 'text', value }, filename: '', mediaType: 'text/plain' };
}

function openStore() {
  if (!databaseUrl) return new InMemoryTaskStore();
  const pool = new pg.Pool({ connectionString: databaseUrl });
  return new DatabaseTaskStore(new Kysely({ dialect: new PostgresDialect({ pool }) }));
}

const card = {
  name: 'echo',
  description: 'Returns the text.',
  version: '1.0.0',
  supportedInterfaces: [
    {
      url: `http://127.0.0.1:${port}/jsonrpc`,
      protocolBinding: 'JSONRPC',
      tenant: '',
      protocolVersion: '1.0',
    },
  ],
  provider: undefined,
  capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
  signatures: [],
};

const requestHandler = new DefaultRequestHandler(card, openStore(), echo);
const app = express();
app.get('/health/ready', (_request, response) => response.json({ status: 'ok' }));
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
app.use('/jsonrpc', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
app.listen(Number(port), '127.0.0.1');
