import type { JsonObject } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import type { OperationName } from '../../src/protocol/index.js';
import { normal } from './answer.form.js';
import type { BindingClient, Headers, Reply } from './clients/index.js';
import type { Stage } from './stage.js';

/** One call, made on each binding: every answer has to be as expected, and all of them equal. */
export interface Case<G> {
  readonly title: string;
  /** Id of the agent; the default one otherwise. */
  readonly agent?: string;
  readonly operation: OperationName;
  /** What has to happen before, on the same binding. */
  readonly given?: (client: BindingClient) => Promise<G>;
  readonly request?: JsonObject | ((given: G) => JsonObject);
  readonly headers?: Headers;
  readonly expect: (reply: Reply, given: G, client: BindingClient) => void | Promise<void>;
}

export interface Conformance {
  /** Declares the test of a case. */
  conforms<G>(given: Case<G>): void;
  /** Declares a test of several calls; what the scenario resolves with is compared between the bindings. */
  onEveryBinding(title: string, scenario: (client: BindingClient) => Promise<unknown>, agent?: string): void;
}

export function conformance(stage: Stage): Conformance {
  const onEveryBinding: Conformance['onEveryBinding'] = (title, scenario, agent) => {
    it(title, async () => {
      const clients = stage.clients(agent);
      const told = await Promise.all(clients.map((client) => named(client, () => scenario(client))));
      const [first, ...others] = told.map(normal);
      for (const [index, other] of others.entries()) {
        expect(other, `${clients[index + 1]!.binding} against ${clients[0]!.binding}`).toEqual(first);
      }
    });
  };
  return {
    onEveryBinding,
    conforms: ({ title, agent, operation, given, request, headers, expect: check }) =>
      onEveryBinding(
        title,
        async (client) => {
          const before = (await given?.(client)) as never;
          const body = typeof request === 'function' ? request(before) : request;
          const reply = await client.call(operation, body, headers);
          await check(reply, before, client);
          return { result: reply.result, frames: reply.frames, refusal: reply.refusal };
        },
        agent,
      ),
  };
}

/** Says on which binding it went wrong. */
async function named<T>({ binding }: BindingClient, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof Error) error.message = `on ${binding}: ${error.message}`;
    throw error;
  }
}
