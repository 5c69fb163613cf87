/** One event of an SSE stream, or a comment between two. */
export interface SseFrame {
  readonly event?: string;
  readonly id?: string;
  readonly data?: string;
  readonly comment?: string;
}

/** Reads server-sent events as they come. */
export async function* readSse(body: ReadableStream<Uint8Array>): AsyncGenerator<SseFrame> {
  let text = '';
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    text += part;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      yield frameOf(text.slice(0, end));
      text = text.slice(end + 2);
    }
  }
  if (text !== '') throw new Error(`The stream broke off in the middle of an event: ${text}`);
}

function frameOf(text: string): SseFrame {
  const frame: Record<string, string> = {};
  for (const line of text.split('\n')) {
    const [, name, value] = /^(\w*): ?(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error(`Not a line of an event: ${line}`);
    frame[name || 'comment'] = value;
  }
  return frame;
}
