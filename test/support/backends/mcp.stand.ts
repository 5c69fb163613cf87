import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { mcpServer } from './mcp.server.mjs';
import { Count, ownProcesses, type Stand, serve } from './stand.js';

/** A tool of an MCP server on streamable HTTP. */
export async function mcpStand(): Promise<Stand> {
  const count = new Count();
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const server = await serve(async (request, response) => {
    const id = request.headers['mcp-session-id'];
    let transport = sessions.get(String(id));
    if (!transport) {
      const made = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => `session-${sessions.size}`,
        onsessioninitialized: (session) => void sessions.set(session, made),
      });
      transport = made;
      await mcpServer(count).connect(made as Transport);
    }
    await transport.handleRequest(request, response);
  });
  return {
    backend: { kind: 'mcp', url: `${server.url}/mcp`, tool: 'say', textArgument: 'text' },
    requests: server.requests,
    running: () => count.now,
    begun: () => count.ever,
    close: () => server.close(),
  };
}

/** The same on stdio. */
export async function mcpStdioStand(): Promise<Stand> {
  const agent = new URL('mcp.agent.mjs', import.meta.url).pathname;
  const { mark, running, close } = ownProcesses();
  return {
    backend: { kind: 'mcp', command: [process.execPath, agent, mark], tool: 'say', textArgument: 'text' },
    requests: [],
    running,
    begun: () => 0,
    close,
  };
}
