import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface CollectedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly links: readonly { readonly spanId: string }[];
  /** 2 is an error. */
  readonly status: number;
  readonly attributes: Readonly<Record<string, string | number>>;
}

interface OtlpSpan extends Omit<CollectedSpan, 'status' | 'attributes' | 'links'> {
  readonly links?: CollectedSpan['links'];
  readonly status?: { readonly code?: number };
  readonly attributes: readonly { key: string; value: Record<string, string | number> }[];
}
interface OtlpTraces {
  readonly resourceSpans: readonly { scopeSpans: readonly { spans: readonly OtlpSpan[] }[] }[];
}

/** Takes traces by OTLP (`http/json`), as a collector would. */
export class OtlpCollector {
  readonly spans: CollectedSpan[] = [];

  private constructor(private readonly server: Server) {}

  static async listen(): Promise<OtlpCollector> {
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      if (request.url === '/v1/traces') collector.#take(JSON.parse(Buffer.concat(chunks).toString()));
      response.setHeader('content-type', 'application/json').end('{}');
    });
    const collector = new OtlpCollector(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return collector;
  }

  /** What tells a service to export here, at once. */
  get env(): Record<string, string> {
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
    };
  }

  in(traceId: string): CollectedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #take({ resourceSpans }: OtlpTraces): void {
    for (const { scopeSpans } of resourceSpans) {
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
        const attributes = span.attributes.map(({ key, value }) => [key, Object.values(value)[0]]);
        this.spans.push({
          ...span,
          links: span.links ?? [],
          status: span.status?.code ?? 0,
          attributes: Object.fromEntries(attributes),
        });
      }
    }
  }
}
