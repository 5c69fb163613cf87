// @ts-check
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';
import { Death, play } from './script.mjs';

/**
 * A server with one tool, `say`, that does what the script says.
 *
 * @param {{now: number, ever: number}} count
 * @param {() => void} die what it does when it dies
 */
export function mcpServer(count, die = () => {}) {
  const server = new McpServer({ name: 'test', version: '1.0.0' });
  server.registerTool(
    'say',
    { description: 'Says it', inputSchema: { text: z.string(), colour: z.string().optional() } },
    async ({ text }, extra) => {
      count.now++;
      count.ever++;
      try {
        return await said(text, extra);
      } catch (error) {
        if (error instanceof Death) die();
        throw error;
      } finally {
        count.now--;
      }
    },
  );
  return server;
}

/** @param {string} text @param {any} extra @returns {Promise<any>} */
async function said(text, extra) {
  const message = { parts: [{ text }] };
  const words = [];
  let step = 0;
  for await (const event of play({ message, history: [message] }, extra.signal)) {
    if (typeof event === 'string') throw new Error(event);
    const { type, text: more } = /** @type {any} */ (event);
    if (type === 'artifact') words.push(more);
    const progressToken = extra._meta?.progressToken;
    if (type !== 'status' || progressToken === undefined) continue;
    const params = { progressToken, progress: ++step, message: more };
    await extra.sendNotification({ method: 'notifications/progress', params });
  }
  return { content: [{ type: 'text', text: words.join('') }] };
}
