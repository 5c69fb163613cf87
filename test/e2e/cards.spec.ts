import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Binding } from '../../src/protocol/index.js';
import { callAny } from '../support/any.binding.js';
import { type RunningService, startService } from '../support/service.js';

const AGENTS = ['echo', 'test-runner', 'code-reviewer', 'deployer', 'conformance'];
const CARDS = ['/.well-known/agent-card.json', ...AGENTS.map((agent) => `/agents/${agent}/card`)];

interface Card {
  readonly name: string;
  readonly supportedInterfaces: readonly {
    readonly url: string;
    readonly protocolBinding: Binding;
    readonly protocolVersion: string;
    readonly tenant?: string;
  }[];
}

let service: RunningService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());

describe.each(CARDS)('The card at %s', (path) => {
  let card: Card;
  beforeAll(async () => {
    card = (await (await fetch(service.httpUrl + path)).json()) as Card;
  });

  it('lists the three bindings, and each answers at the address that is written there (S002-023, B121)', async () => {
    expect(card.supportedInterfaces.map((i) => i.protocolBinding)).toEqual(['JSONRPC', 'HTTP+JSON', 'GRPC']);
    for (const { url, protocolBinding: binding, protocolVersion, tenant } of card.supportedInterfaces) {
      const answer = await callAny(
        { httpUrl: url, grpcAddress: url },
        {
          ...{ binding, operation: 'listTasks', isExactUrl: true },
          request: tenant === undefined ? {} : { tenant },
          headers: { 'a2a-version': protocolVersion },
        },
      );
      expect(answer).toMatchObject({ reply: { tasks: [], totalSize: 0 } });
    }
  });

  it.each(['0.3', '', '2.0', 'abc'])(
    'declares no version "%s", which is refused everywhere',
    async (version) => {
      for (const { url, protocolBinding: binding } of card.supportedInterfaces) {
        const answer = await callAny(
          { httpUrl: url, grpcAddress: url },
          { binding, operation: 'listTasks', isExactUrl: true, headers: { 'a2a-version': version } },
        );
        expect(answer.reason).toBe('VERSION_NOT_SUPPORTED');
      }
    },
  );
});
