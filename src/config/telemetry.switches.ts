import type { Config } from './config.js';
import type { Environment } from './config.loader.js';

/** What of telemetry is on. How it is exported the standard `OTEL_*` variables say, to OpenTelemetry itself. */
export interface TelemetrySwitches {
  readonly tracing: boolean;
  /** Metrics are sent by OTLP. A port for Prometheus comes instead of it. */
  readonly otlpMetrics: boolean;
}

export function telemetrySwitches({ tracing }: Pick<Config, 'tracing'>, env: Environment): TelemetrySwitches {
  const goesTo = (signal: string) =>
    Boolean(env.OTEL_EXPORTER_OTLP_ENDPOINT || env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`]);
  return {
    tracing: tracing === 'on' || (tracing === 'auto' && goesTo('TRACES')),
    otlpMetrics: goesTo('METRICS') && env.OTEL_METRICS_EXPORTER !== 'none',
  };
}
