import { AgentFailure } from '../agent.executor.js';

/** The agent's answer as text, chunk by chunk. @throws AgentFailure beyond `limit` bytes */
export async function* limitedText(
  source: AsyncIterable<Uint8Array>,
  limit: number,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let size = 0;
  for await (const chunk of source) {
    size += chunk.byteLength;
    if (size > limit) throw new AgentFailure(`The agent answered with more than ${limit} bytes.`);
    const text = decoder.decode(chunk, { stream: true });
    if (text) yield text;
  }
  const rest = decoder.decode();
  if (rest) yield rest;
}

/** The lines of a text that comes in chunks, without empty ones. */
export async function* linesOf(chunks: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  let begun: string[] = [];
  for await (const chunk of chunks) {
    const [first = '', ...more] = chunk.split('\n');
    begun.push(first);
    for (const line of more) {
      yield* nonEmpty(begun.join(''));
      begun = [line];
    }
  }
  yield* nonEmpty(begun.join(''));
}

const nonEmpty = (line: string) => (line.trim() === '' ? [] : [line]);
