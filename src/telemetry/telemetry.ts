import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type ContextManager, ROOT_CONTEXT } from '@opentelemetry/api';
import type { Config, TelemetrySwitches } from '../config/index.js';
import { packageVersion } from '../config/index.js';
import { observe } from './meter.js';

const NS_PER_S = 1e9;

/** What was started of telemetry. */
export interface Telemetry {
  /** Where Prometheus finds the metrics. */
  readonly metricsUrl?: string;
  /** Exports what is left. Never rejects. */
  stop(): Promise<void>;
}

/**
 * Starts tracing and metrics as far as they are wanted; to be called before anything else is loaded that is
 * traced or measured. Exporters, sampling and resource follow the standard `OTEL_*` variables. Where nothing is
 * wanted nothing is loaded, and the API's calls do nothing.
 */
export async function startTelemetry(
  config: Pick<Config, 'host' | 'metricsPort' | 'tracingStock'>,
  { tracing, otlpMetrics }: TelemetrySwitches,
): Promise<Telemetry> {
  const { metricsPort } = config;
  if (!tracing && !otlpMetrics && metricsPort === undefined) return { stop: async () => undefined };
  const { NodeSDK, resources } = await import('@opentelemetry/sdk-node');
  const prometheus = metricsPort === undefined ? undefined : await prometheusReader();
  const sdk = new NodeSDK({
    contextManager: followsFunctions(tracing && config.tracingStock) ? undefined : CARRIED,
    resource: resources.resourceFromAttributes({
      'service.name': 'parley',
      'service.version': packageVersion(),
    }),
    metricReaders: prometheus ? [prometheus] : otlpMetrics ? undefined : [],
    spanProcessors: tracing ? undefined : [],
    logRecordProcessors: [],
    instrumentations: tracing && config.tracingStock ? await stockInstrumentations() : [],
  });
  sdk.start();
  observeEventLoop();
  const server =
    prometheus && createServer((request, response) => prometheus.getMetricsRequestHandler(request, response));
  const metricsUrl = server && (await listen(server, config.host, metricsPort));
  return {
    metricsUrl,
    stop: async () => {
      server?.close();
      server?.closeAllConnections();
      await sdk.shutdown().catch(() => undefined);
    },
  };
}

/** Spans of ours carry their trace themselves; the context behind the functions is for those of others. */
const CARRIED: ContextManager = {
  active: () => ROOT_CONTEXT,
  with: (_context, work, self, ...given) => work.apply(self, given),
  bind: (_context, target) => target,
  enable: () => CARRIED,
  disable: () => CARRIED,
};

/** Before Node 24 it costs every promise of the process. */
const followsFunctions = (isWanted: boolean) => isWanted || Number.parseInt(process.versions.node, 10) >= 24;

async function prometheusReader() {
  const { PrometheusExporter } = await import('@opentelemetry/exporter-prometheus');
  return new PrometheusExporter({ preventServerStart: true, withoutScopeInfo: true });
}

/** They cost a quarter of the throughput, whatever is sampled. */
async function stockInstrumentations() {
  const [{ HttpInstrumentation }, { GrpcInstrumentation }, { PgInstrumentation }] = await Promise.all([
    import('@opentelemetry/instrumentation-http'),
    import('@opentelemetry/instrumentation-grpc'),
    import('@opentelemetry/instrumentation-pg'),
  ]);
  return [new HttpInstrumentation(), new GrpcInstrumentation(), new PgInstrumentation()];
}

function observeEventLoop(): void {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  observe('a2a.server.event_loop.delay', (tell) => {
    tell(delay.percentile(50) / NS_PER_S, { quantile: 'p50' });
    tell(delay.percentile(99) / NS_PER_S, { quantile: 'p99' });
    tell(delay.max / NS_PER_S, { quantile: 'max' });
    delay.reset();
  });
}

function listen(server: Server, host: string, port: number | undefined): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      const { address, family, port: taken } = server.address() as AddressInfo;
      resolve(`http://${family === 'IPv6' ? `[${address}]` : address}:${taken}/metrics`);
    });
  });
}
