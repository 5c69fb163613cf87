import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { toJson } from '@bufbuild/protobuf';
import { ValueSchema } from '@bufbuild/protobuf/wkt';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { FetchLike, Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { type CallToolResult, CallToolResultSchema, type Progress } from '@modelcontextprotocol/sdk/types.js';
import { environment, packageVersion } from '../../config/index.js';
import {
  type ArtifactInit,
  artifact,
  completed,
  dataPart,
  failed,
  inputRequired,
  type PartInit,
  textOf,
  textPart,
  working,
} from '../agent.events.js';
import { type AgentEvent, AgentExecutor, AgentFailure, type TurnContext } from '../agent.executor.js';
import { backendHeaders } from './backend.client.js';
import { backendFetch } from './backend.fetch.js';
import type { BackendOf } from './backend.schema.js';
import { recordWithSecrets } from './secret.reference.js';

/** The turn has limits of its own. */
const LONGEST_CALL_MS = 2_147_483_647;

/**
 * A tool of an MCP server as an agent. Arguments come from the message's data part, its text from
 * `textArgument`; one that the tool requires and nobody gave is asked for. Progress becomes status, the result
 * an artifact. The connection is made for the turn and closed with it, which ends a server on stdio.
 */
export class McpExecutor extends AgentExecutor {
  constructor(
    private readonly backend: BackendOf<'mcp'>,
    private readonly folder: string,
  ) {
    super();
  }

  async *execute(turn: TurnContext): AsyncIterable<AgentEvent> {
    const client = new Client({ name: 'parley', version: packageVersion() });
    const transport = await this.#transport(turn);
    try {
      await client.connect(transport, { signal: turn.signal });
      const { tools } = await client.listTools(undefined, { signal: turn.signal });
      const tool = tools.find(({ name }) => name === this.backend.tool);
      if (!tool) throw new AgentFailure(`The agent's server has no tool ${this.backend.tool}.`);
      const args = this.#arguments(turn);
      const missing = (tool.inputSchema.required ?? []).filter((name) => args[name] === undefined);
      if (missing.length > 0) yield inputRequired(`Give ${missing.join(', ')}`);
      else yield* this.#call(client, args, turn);
    } catch (error) {
      if (turn.signal.aborted || error instanceof AgentFailure) throw error;
      throw new AgentFailure("The agent's server failed.", { cause: error });
    } finally {
      // Ends what the server still does for us.
      if (transport instanceof StreamableHTTPClientTransport)
        await transport.terminateSession().catch(() => {});
      await client.close().catch(() => {});
    }
  }

  async #transport(turn: TurnContext): Promise<Transport> {
    const { url, command, env } = this.backend;
    if (url !== undefined) {
      const headers = await backendHeaders(this.backend, turn, url);
      return new StreamableHTTPClientTransport(new URL(url), {
        // Credentials go nowhere else.
        requestInit: { headers, redirect: 'error' },
        fetch: backendFetch as unknown as FetchLike,
      });
    }
    const [program = '', ...args] = command ?? [];
    const { PATH = '', HOME = '' } = environment;
    return new StdioClientTransport({
      command: program,
      args,
      cwd: this.folder,
      env: { PATH, HOME, ...recordWithSecrets(env) },
      stderr: 'ignore',
    });
  }

  /** Of all that the caller has said in this task: a later answer adds to what was asked at first. */
  #arguments({ history }: TurnContext): JsonObject {
    const { textArgument } = this.backend;
    const given: JsonObject = {};
    for (const { role, parts } of history) {
      if (role !== 1) continue;
      const text = textOf(parts);
      if (textArgument !== undefined && text !== '') given[textArgument] = text;
      for (const { content } of parts) {
        const data: JsonValue = content.case === 'data' ? toJson(ValueSchema, content.value) : null;
        if (typeof data === 'object' && data !== null && !Array.isArray(data)) Object.assign(given, data);
      }
    }
    return { ...given, ...this.backend.arguments };
  }

  async *#call(client: Client, args: JsonObject, turn: TurnContext): AsyncIterable<AgentEvent> {
    yield working();
    const progress: Progress[] = [];
    let wake = () => {};
    const options = {
      signal: turn.signal,
      timeout: LONGEST_CALL_MS,
      onprogress: (step: Progress) => {
        progress.push(step);
        wake();
      },
    };
    let result: CallToolResult | undefined;
    const call = client
      .callTool({ name: this.backend.tool, arguments: args }, CallToolResultSchema, options)
      .then((given) => {
        result = given as CallToolResult;
      })
      .finally(() => wake());
    call.catch(() => {}); // Awaited below.
    while (result === undefined) {
      const step = progress.shift();
      if (step) yield working(progressText(step));
      else await Promise.race([call, new Promise<void>((resolve) => (wake = resolve))]);
    }
    for (const step of progress) yield working(progressText(step));
    yield* answer(result);
  }
}

function progressText({ progress, total, message }: Progress): string {
  return message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`);
}

function* answer({ content, structuredContent, isError }: CallToolResult): Iterable<AgentEvent> {
  const parts = content.flatMap(partOf);
  if (structuredContent) parts.push(dataPart(structuredContent as JsonObject));
  if (isError) {
    const text = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
    yield failed(text || 'The tool failed.');
    return;
  }
  if (parts.length > 0)
    yield artifact({ artifactId: 'result', name: 'result', parts } satisfies ArtifactInit);
  yield completed();
}

function partOf(block: CallToolResult['content'][number]): PartInit[] {
  switch (block.type) {
    case 'text':
      return [textPart(block.text)];
    case 'image':
    case 'audio':
      return [rawPart(block.data, block.mimeType)];
    case 'resource_link':
      return [
        { content: { case: 'url', value: block.uri }, filename: block.name, mediaType: block.mimeType ?? '' },
      ];
    case 'resource': {
      const { resource } = block;
      if ('text' in resource) return [textPart(resource.text, resource.mimeType)];
      return [rawPart(resource.blob, resource.mimeType ?? 'application/octet-stream')];
    }
    default:
      return [];
  }
}

function rawPart(base64: string, mediaType: string): PartInit {
  return { content: { case: 'raw', value: Buffer.from(base64, 'base64') }, mediaType };
}
