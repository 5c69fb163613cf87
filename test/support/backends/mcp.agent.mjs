// An MCP server on stdio with the one tool that the tests call.
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { mcpServer } from './mcp.server.mjs';

await mcpServer({ now: 0, ever: 0 }, () => process.exit(7)).connect(new StdioServerTransport());
