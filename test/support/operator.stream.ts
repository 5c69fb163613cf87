import { until } from './house.js';

/** One event of the operators' stream of waiting tasks. */
export interface OperatorEvent {
  readonly id: string;
  readonly type: string;
  readonly data: {
    readonly taskId?: string;
    readonly state?: string;
    readonly agent: string;
    readonly since: string;
    readonly task?: { readonly id: string };
  };
}

/** Reads `GET /operator/approvals/stream` until it is closed. */
export class OperatorStream {
  readonly events: OperatorEvent[] = [];
  readonly #leaving = new AbortController();
  /** Resolves when the stream ends, by whichever side. */
  readonly ended: Promise<void>;

  constructor(url: string, { token, lastEventId, query = '' }: StreamOptions) {
    this.ended = this.#read(`${url}/operator/approvals/stream?${query}`, {
      authorization: `Bearer ${token}`,
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    }).catch(() => undefined);
  }

  /** The first event of that kind about the task. */
  async told(type: string, taskId: string): Promise<OperatorEvent> {
    const find = () =>
      this.events.find(
        (event) => event.type === type && (event.data.taskId ?? event.data.task?.id) === taskId,
      );
    await until(() => find() !== undefined);
    return find()!;
  }

  async close(): Promise<void> {
    this.#leaving.abort();
    await this.ended;
  }

  async #read(url: string, headers: Record<string, string>): Promise<void> {
    const response = await fetch(url, { headers, signal: this.#leaving.signal });
    if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
      throw new Error(`no stream but ${response.status}`);
    let text = '';
    for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
      const parts = (text + piece).split('\n\n');
      text = parts.pop()!;
      for (const part of parts) {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(part)?.[1];
        const data = field('data');
        if (data === undefined) continue;
        this.events.push({ id: field('id') ?? '', type: field('event') ?? '', data: JSON.parse(data) });
      }
    }
  }
}

export interface StreamOptions {
  readonly token: string;
  readonly lastEventId?: string;
  readonly query?: string;
}
