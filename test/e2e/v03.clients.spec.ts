import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type {
  Artifact,
  Message,
  Part,
  Task,
  TaskArtifactUpdateEvent,
  TaskStatusUpdateEvent,
} from 'a2a-sdk-v03';
import {
  type Client,
  ClientFactory,
  JsonRpcTransportFactory,
  RestTransportFactory,
  TaskNotCancelableError,
  TaskNotFoundError,
} from 'a2a-sdk-v03/client';
import { GrpcTransportFactory } from 'a2a-sdk-v03/client/grpc';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BINDINGS } from '../support/any.binding.js';
import { type RunningService, startService } from '../support/service.js';

const TOKEN = 'operator';
const folder = mkdtempSync(join(tmpdir(), 'parley-v03-'));
const deployments = join(folder, 'deployments.log');

let service: RunningService;
beforeAll(async () => {
  service = await startService({
    env: { PARLEY_OPERATOR_TOKEN: TOKEN, PARLEY_DEPLOYMENTS_FILE: deployments },
  });
});
afterAll(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

type Binding = (typeof BINDINGS)[number];
type Event = Task | Message | TaskStatusUpdateEvent | TaskArtifactUpdateEvent;

/** The SDK's own client for an agent, as it comes, over the binding that is wanted. */
class OldClient {
  readonly #options: { serviceParameters?: Record<string, string> };

  private constructor(
    private readonly client: Client,
    agent: string | undefined,
  ) {
    this.#options = agent ? { serviceParameters: { 'a2a-tenant': agent } } : {};
  }

  /** Over gRPC, where 0.3 has no word for the agent, metadata name it. */
  static async of(binding: Binding, agent: string): Promise<OldClient> {
    const factory = new ClientFactory({
      transports: [new JsonRpcTransportFactory(), new RestTransportFactory(), new GrpcTransportFactory()],
      preferredTransports: [binding],
    });
    const isGrpc = binding === 'GRPC';
    const client = await factory.createFromUrl(`${service.httpUrl}/agents/${isGrpc ? 'echo' : agent}/`);
    return new OldClient(client, isGrpc ? agent : undefined);
  }

  async send(words: string | Part[], more: Partial<Message> = {}, blocking = true): Promise<Task> {
    const configuration = { blocking };
    const reply = await this.client.sendMessage({ message: says(words, more), configuration }, this.#options);
    if (reply.kind !== 'task') throw new Error(`a ${reply.kind} came instead of a task`);
    return reply;
  }

  async message(words: string): Promise<Message> {
    const reply = await this.client.sendMessage({ message: says(words) }, this.#options);
    if (reply.kind !== 'message') throw new Error(`a ${reply.kind} came instead of a message`);
    return reply;
  }

  stream(words: string, more: Partial<Message> = {}): AsyncGenerator<Event> {
    return this.client.sendMessageStream({ message: says(words, more) }, this.#options);
  }

  resubscribe(id: string): AsyncGenerator<Event> {
    return this.client.resubscribeTask({ id }, this.#options);
  }

  get = (id: string): Promise<Task> => this.client.getTask({ id }, this.#options);
  cancel = (id: string): Promise<Task> => this.client.cancelTask({ id }, this.#options);
}

function says(words: string | Part[], more: Partial<Message> = {}): Message {
  const parts: Part[] = typeof words === 'string' ? [{ kind: 'text', text: words }] : words;
  return { kind: 'message', messageId: crypto.randomUUID(), role: 'user', parts, ...more };
}

async function all(stream: AsyncGenerator<Event>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** The kinds of events; of a status update, its state. */
const kinds = (events: readonly Event[]): string[] =>
  events.map((event) => (event.kind === 'status-update' ? event.status.state : event.kind));

const textOf = ({ parts = [] }: Partial<Artifact> | Message) =>
  parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');

const dataOf = (task: Task, artifactId: string) => {
  const part = task.artifacts?.find((artifact) => artifact.artifactId === artifactId)?.parts[0];
  return part?.kind === 'data' ? part.data : undefined;
};

const CHANGE = `--- a/cart.js
+++ b/cart.js
@@ -9,1 +9,2 @@
   remove(article) {
+    console.log('removed', article);
`;

describe.each(BINDINGS)('The client of the 0.3 SDK over %s', (binding) => {
  const at = (agent: string) => OldClient.of(binding, agent);

  it('follows a run of tests to its end (S000-13, S000-14, S000-15, S001-03, S001-05)', async () => {
    const client = await at('test-runner');
    const events = await all(client.stream('Run the cart and price tests'));

    expect(kinds(events)[0]).toBe('task');
    expect(kinds(events)).toContain('working');
    expect(kinds(events).at(-1)).toBe('completed');
    expect(events.filter((event) => event.kind === 'status-update' && event.final)).toEqual([events.at(-1)]);
    const log = events.flatMap((event) =>
      event.kind === 'artifact-update' && event.artifact.artifactId === 'test-log'
        ? [textOf(event.artifact)]
        : [],
    );
    expect(log.join('')).toContain('✔ a new cart is empty');
    const task = await client.get((events[0] as Task).id);
    expect(dataOf(task, 'summary')).toMatchObject({ passed: 7, failed: 0 });
    expect(textOf(task.artifacts!.find(({ artifactId }) => artifactId === 'test-log')!)).toBe(log.join(''));
  });

  it('answers the question of a reviewer and reads its findings (S000-29, S001-04)', async () => {
    const client = await at('code-reviewer');
    const bytes = Buffer.from(CHANGE).toString('base64');
    const asked = await client.send([
      { kind: 'text', text: 'Please review this change' },
      { kind: 'file', file: { bytes, mimeType: 'text/x-diff', name: 'cart.diff' } },
    ]);
    expect(asked).toMatchObject({ kind: 'task', status: { state: 'input-required' } });
    expect(textOf(asked.status.message!)).toBe('Which branch is the base of this diff?');

    const review = await client.send('main', { taskId: asked.id, contextId: asked.contextId });
    expect(review).toMatchObject({
      id: asked.id,
      contextId: asked.contextId,
      status: { state: 'completed' },
    });
    expect(dataOf(review, 'review')).toMatchObject({ base: 'main', findings: [{ rule: 'debug-print' }] });
  });

  it('hears that production is refused (S002-177)', async () => {
    const refused = await (await at('deployer')).send('Deploy shop 1.4.2 to production');
    expect(refused.status.state).toBe('rejected');
  });

  it('leaves at a wait for an operator, and comes back for the end (S001-06, S001-10, S000-20)', async () => {
    const client = await at('deployer');
    const events = await all(client.stream('Deploy shop 1.4.2 to staging'));
    expect(events.at(-1)).toMatchObject({ status: { state: 'auth-required' }, final: true });
    const { id } = events[0] as Task;

    const rest = client.resubscribe(id);
    expect((await rest.next()).value).toMatchObject({ id, status: { state: 'auth-required' } });
    const approval = await fetch(`${service.httpUrl}/operator/approvals/${id}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ approved: true, by: 'Ann' }),
    });
    expect(approval.status).toBe(200);
    const end = await all(rest);
    expect(end.at(-1)).toMatchObject({ status: { state: 'completed' }, final: true });
    expect(dataOf(await client.get(id), 'deployment')).toMatchObject({ approvedBy: 'Ann' });
    expect(readFileSync(deployments, 'utf8')).toContain(id);
  });

  it('is answered with a Message by an agent that just talks (S001-04)', async () => {
    const reply = await (await at('echo')).message('message hi');
    expect(reply).toMatchObject({ kind: 'message', role: 'agent' });
    expect(textOf(reply)).toBe('hi');
  });

  it('need not wait (S000-11, S002-174)', async () => {
    const client = await at('echo');
    const started = await client.send('sleep 60000', {}, false);
    expect(['submitted', 'working']).toContain(started.status.state);
    expect((await client.cancel(started.id)).status.state).toBe('canceled');
    expect((await client.get(started.id)).status.state).toBe('canceled');
  });

  it('is told what it cannot have (S000-25, S001-09)', async () => {
    const client = await at('echo');
    const done = await client.send('hello');
    expect(done).toMatchObject({ status: { state: 'completed' }, artifacts: [{ name: 'response' }] });

    await expect(client.cancel(done.id)).rejects.toThrow(TaskNotCancelableError);
    await expect(client.get(crypto.randomUUID())).rejects.toThrow(TaskNotFoundError);
    await expect(all(client.resubscribe(crypto.randomUUID()))).rejects.toThrow(/no such task/);
  });

  it('gets the final task of one that has ended, then the end (S000-21, S001-10)', async () => {
    const client = await at('echo');
    const done = await client.send('hello');
    expect(await all(client.resubscribe(done.id))).toEqual([done]);
  });
});
