import type { JsonObject } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import type { OperationName } from '../../src/protocol/index.js';
import { normal } from './answer.form.js';
import type { BindingClient, Headers, Reply } from './clients/index.js';
import type { Stage } from './stage.js';
import type { ModernOnly } from './v03/modern.only.js';

/** One call, made on each binding in 1.0 and in 0.3: every answer has to be as expected, and all of them equal. */
export interface Case<G> {
  readonly title: string;
  /** Id of the agent; the default one otherwise. */
  readonly agent?: string;
  readonly modernOnly?: ModernOnly;
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
  onEveryBinding(
    title: string,
    scenario: (client: BindingClient) => Promise<unknown>,
    options?: Pick<Case<never>, 'agent' | 'modernOnly'>,
  ): void;
}

/** `modernOnly` is about all cases of the suite but those that have a reason of their own. */
export function conformance(stage: Stage, modernOnly?: ModernOnly): Conformance {
  const onEveryBinding: Conformance['onEveryBinding'] = (title, scenario, options = {}) => {
    const { agent, modernOnly: reason = modernOnly } = options;
    it(title, async () => {
      const old = stage.oldClients(agent).filter(({ binding }) => !isAbout(reason, binding));
      const clients = [...stage.clients(agent), ...old];
      const told = await Promise.all(clients.map((client) => named(client, () => scenario(client))));
      const [first, ...others] = told.map(normal);
      for (const [index, other] of others.entries()) {
        expect(other, `${nameOf(clients[index + 1]!)} against ${nameOf(clients[0]!)}`).toEqual(first);
      }
    });
  };
  return {
    onEveryBinding,
    conforms: ({ title, operation, given, request, headers, expect: check, ...options }) =>
      onEveryBinding(
        title,
        async (client) => {
          const before = (await given?.(client)) as never;
          const body = typeof request === 'function' ? request(before) : request;
          const reply = await client.call(operation, body, headers);
          await check(reply, before, client);
          return { result: reply.result, frames: reply.frames, refusal: reply.refusal };
        },
        options,
      ),
  };
}

const isAbout = (only: ModernOnly | undefined, binding: BindingClient['binding']) =>
  only !== undefined && (only.bindings?.includes(binding) ?? true);

const nameOf = ({ version, binding }: BindingClient) => `${version} over ${binding}`;

/** Says on which binding it went wrong. */
async function named<T>(client: BindingClient, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof Error) error.message = `in ${nameOf(client)}: ${error.message}`;
    throw error;
  }
}
