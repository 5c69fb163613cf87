import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Binding } from '../../src/protocol/index.js';
import { callAny } from '../support/any.binding.js';
import { message } from '../support/caller.matrix.js';
import { type RunningService, startService } from '../support/service.js';

const PREFIX = '/sites/a';

/** A proxy that serves a service below a path, and says so as proxies do. */
class PathProxy {
  target = '';
  readonly #server: Server = createServer((incoming, outgoing) => {
    if (!incoming.url?.startsWith(`${PREFIX}/`)) {
      outgoing.writeHead(404).end();
      return;
    }
    const headers = {
      ...incoming.headers,
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'http',
      'x-forwarded-prefix': '/elsewhere',
    };
    const { method } = incoming;
    const url = this.target + incoming.url.slice(PREFIX.length);
    incoming.pipe(
      request(url, { method, headers }, (response) => {
        outgoing.writeHead(response.statusCode!, response.headers);
        response.pipe(outgoing);
      }),
    );
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${PREFIX}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

interface Card {
  readonly supportedInterfaces: readonly {
    readonly url: string;
    readonly protocolBinding: Binding;
    readonly protocolVersion: string;
    readonly tenant?: string;
  }[];
}

describe.each(['', '/'])('A service below a path whose public URL ends with "%s"', (slash) => {
  const proxy = new PathProxy();
  let service: RunningService;
  let url: string;
  beforeAll(async () => {
    url = await proxy.listen();
    service = await startService({
      env: { PARLEY_PUBLIC_URL: url + slash, PARLEY_TRUSTED_PROXIES: '127.0.0.1' },
    });
    proxy.target = service.httpUrl;
  });
  afterAll(async () => {
    await service?.stop();
    proxy.close();
  });

  it.each([
    '/.well-known/agent-card.json',
    '/agents/deployer/.well-known/agent-card.json',
    '/agents/echo/card',
  ])('is called at each address of the card at %s as it stands there (B119, B118)', async (path) => {
    const text = await (await fetch(url + path)).text();
    expect(text).not.toMatch(/evil|elsewhere/);
    const card = JSON.parse(text) as Card;
    const current = card.supportedInterfaces.filter(({ protocolVersion }) => protocolVersion === '1.0');
    expect(current.map(({ protocolBinding }) => protocolBinding)).toEqual(['JSONRPC', 'HTTP+JSON', 'GRPC']);
    for (const { url: address, protocolBinding: binding, tenant } of current) {
      if (binding !== 'GRPC') expect(address).toMatch(new RegExp(`^${url}/[^/].*[^/]$`));
      const answer = await callAny(
        { httpUrl: address, grpcAddress: service.grpcAddress },
        {
          ...{ binding, operation: 'sendMessage', isExactUrl: true },
          request: { ...message('hello'), ...(tenant && { tenant }) },
        },
      );
      expect([binding, answer.reason]).toEqual([binding, undefined]);
    }
  });

  it('gives the catalog, the documents and the feed there too', async () => {
    const { agents } = (await (await fetch(`${url}/agents`)).json()) as { agents: { card: string }[] };
    for (const { card } of agents) {
      expect(card.startsWith(`${url}/agents/`)).toBe(true);
      expect((await fetch(card)).status).toBe(200);
    }
    const { servers } = (await (await fetch(`${url}/openapi.json`)).json()) as { servers: { url: string }[] };
    expect(servers[0]?.url).toBe(`${url}/rest`);
    expect((await fetch(`${url}/changes`, { headers: { 'a2a-version': '1.0' } })).status).toBe(200);
  });
});
