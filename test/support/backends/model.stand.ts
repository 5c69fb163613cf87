import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { Death, play } from './script.mjs';
import { Count, type Stand, serve } from './stand.js';

interface ChatRequest {
  readonly messages: readonly { role: string; content: string }[];
  readonly stream: boolean;
}

export interface ModelStand extends Stand {
  /** What was asked, with the key it brought. */
  readonly chats: (ChatRequest & { authorization?: string })[];
  /** How many requests are turned away from now on, with 429. */
  busy: number;
}

/** A chat model that speaks the OpenAI protocol and says what the script says. */
export async function modelStand(): Promise<ModelStand> {
  const count = new Count();
  const server = await serve(async (request, response) => {
    const chat = JSON.parse(await text(request)) as ChatRequest;
    stand.chats.push({ ...chat, authorization: request.headers.authorization });
    if (stand.busy > 0) {
      stand.busy--;
      response.writeHead(429, { 'retry-after': '0' }).end();
      return;
    }
    const left = new AbortController();
    response.on('close', () => left.abort());
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const write = async (chunk: string) => {
      if (!response.write(`data: ${chunk}\n\n`)) await once(response, 'drain');
    };
    const said = { parts: [{ text: chat.messages.at(-1)?.content }] };
    await count.during(async () => {
      try {
        for await (const event of play({ message: said, history: [said] }, left.signal)) {
          if (typeof event === 'string') await write(event);
          else if ('type' in event && event.type === 'artifact' && 'text' in event)
            await write(JSON.stringify({ choices: [{ delta: { content: event.text } }] }));
        }
        if (left.signal.aborted) return;
        await write('{"choices":[{"delta":{},"finish_reason":"stop"}]}');
        await write('{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3}}');
        await write('[DONE]');
        response.end();
      } catch (error) {
        if (!(error instanceof Death)) throw error;
        response.destroy();
      }
    });
  });
  const stand: ModelStand = {
    backend: { kind: 'openai', baseUrl: `${server.url}/v1`, model: 'small' },
    chats: [],
    busy: 0,
    requests: server.requests,
    running: () => count.now,
    begun: () => count.ever,
    close: () => server.close(),
  };
  return stand;
}
