import { randomUUID } from 'node:crypto';
import { packageVersion } from './config/index.js';
import type { Service } from './service.js';

/** What a person sees who has just started the service: where it is, and a line to paste that works. */
export function startBlock(service: Service): string {
  const { httpUrl, grpcAddress, agents, data, push } = service;
  const [defaultAgent, ...others] = agents;
  return `
  Parley ${packageVersion()} is ready.

  JSON-RPC   ${httpUrl}/jsonrpc
  HTTP+JSON  ${httpUrl}/rest
  gRPC       ${grpcAddress}
  Card       ${httpUrl}/.well-known/agent-card.json
  Agents     ${[`${defaultAgent} (default)`, ...others].join(', ')}
             each below ${httpUrl}/agents/{agent}, its card at /card
  Docs       ${httpUrl}/docs
  Data       ${data}
  Push       ${push}

  Say hello:
  ${helloCommand(httpUrl)}

`;
}

function helloCommand(httpUrl: string): string {
  const message = {
    messageId: `hello-${randomUUID().slice(0, 8)}`,
    role: 'ROLE_USER',
    parts: [{ text: 'hello' }],
  };
  const call = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } };
  const headers = `-H 'A2A-Version: 1.0' -H 'Content-Type: application/json'`;
  return `curl -s ${httpUrl}/jsonrpc ${headers} -d '${JSON.stringify(call)}'`;
}
