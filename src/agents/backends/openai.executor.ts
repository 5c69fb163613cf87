import { EventSourceParserStream } from 'eventsource-parser/stream';
import { z } from 'zod';
import { TaskState } from '../../protocol/index.js';
import { artifact, status, textPart, working } from '../agent.events.js';
import { type AgentEvent, AgentExecutor, AgentFailure, type TurnContext } from '../agent.executor.js';
import { extended, type Usage } from '../extensions/index.js';
import { backendHeaders, callBackend } from './backend.client.js';
import type { BackendOf } from './backend.schema.js';
import { limitedText } from './byte.lines.js';
import { chatMessages } from './chat.messages.js';
import { parsed, valid } from './plain.event.js';
import { withSecrets } from './secret.reference.js';

const ModelUsage = z.looseObject({ prompt_tokens: z.number(), completion_tokens: z.number() });

const Chunk = z.looseObject({
  model: z.string().optional(),
  choices: z
    .array(
      z.looseObject({
        delta: z
          .looseObject({ content: z.string().nullish(), tool_calls: z.array(ToolCall()).nullish() })
          .optional(),
        finish_reason: z.string().nullish(),
      }),
    )
    .default([]),
  usage: ModelUsage.nullish(),
  error: z.looseObject({ message: z.string().optional() }).nullish(),
});
type Chunk = z.output<typeof Chunk>;

function ToolCall() {
  return z.looseObject({ function: z.looseObject({ name: z.string().nullish() }).optional() });
}

/** A chat model behind the OpenAI protocol: its words become chunks of one artifact, `response`. */
export class OpenAiExecutor extends AgentExecutor {
  constructor(private readonly backend: BackendOf<'openai'>) {
    super();
  }

  async *execute(turn: TurnContext): AsyncIterable<AgentEvent> {
    const started = performance.now();
    yield working();
    let append = false;
    let ended: string | undefined;
    let usage: Chunk['usage'];
    for await (const chunk of this.#chunks(turn)) {
      usage = chunk.usage ?? usage;
      const [choice] = chunk.choices;
      yield* this.#toolCalls(choice?.delta?.tool_calls ?? []);
      const text = choice?.delta?.content;
      if (text) {
        yield artifact({ artifactId: 'response', name: 'response', parts: [textPart(text)] }, { append });
        append = true;
      }
      ended = choice?.finish_reason ?? ended;
    }
    if (ended === undefined) throw new AgentFailure('The model broke off its answer.');
    if (ended === 'content_filter') throw new AgentFailure('The model refused to answer.');
    const taken = { ...tokensOf(usage), durationMs: Math.round(performance.now() - started) };
    yield status(
      TaskState.COMPLETED,
      ended === 'length' ? 'The answer was cut at its longest.' : undefined,
      extended({ usage: { model: this.backend.model, ...taken, traceId: traceIdOf(turn) } }),
    );
  }

  async *#chunks(turn: TurnContext): AsyncIterable<Chunk> {
    const { baseUrl, apiKey, model, parameters, contextTokens, system, retries, maxOutputBytes } =
      this.backend;
    const response = await callBackend({
      url: `${baseUrl.replace(/\/+$/, '')}/chat/completions`,
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        ...(await backendHeaders(this.backend, turn, baseUrl)),
        ...(apiKey !== undefined && { authorization: `Bearer ${withSecrets(apiKey)}` }),
      },
      body: JSON.stringify({
        ...parameters,
        model,
        messages: await chatMessages(turn, contextTokens, system),
        stream: true,
        stream_options: { include_usage: true },
      }),
      signal: turn.signal,
      retries,
    });
    const text = limitedText(response.body as AsyncIterable<Uint8Array>, maxOutputBytes);
    try {
      for await (const { data } of ReadableStream.from(text).pipeThrough(new EventSourceParserStream())) {
        if (data === '[DONE]') return;
        yield chunkOf(data);
      }
    } catch (error) {
      if (error instanceof AgentFailure) throw error;
      throw new AgentFailure('The model broke off its answer.', { cause: error });
    }
  }

  *#toolCalls(calls: readonly { function?: { name?: string | null } }[]): Iterable<AgentEvent> {
    const names = calls.flatMap((call) => call.function?.name ?? []);
    if (names.length === 0) return;
    if (this.backend.toolCalls === 'refuse')
      throw new AgentFailure('The model asked for a tool; it has none.');
    yield working(`The model asks for ${names.join(', ')}`);
  }
}

function chunkOf(data: string): Chunk {
  const chunk = valid(Chunk, parsed(data));
  if (chunk.error) throw new AgentFailure('The model failed.', { cause: chunk.error });
  return chunk;
}

function tokensOf(usage: Chunk['usage']): Pick<Usage, 'inputTokens' | 'outputTokens'> {
  return usage ? { inputTokens: usage.prompt_tokens, outputTokens: usage.completion_tokens } : {};
}

const traceIdOf = ({ traceparent }: TurnContext) => traceparent?.split('-')[1];
