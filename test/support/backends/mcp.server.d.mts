import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';

export declare function mcpServer(count: { now: number; ever: number }, die?: () => void): McpServer;
