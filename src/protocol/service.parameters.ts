import type { ProtocolVersion } from './call.context.js';

/** Where service parameters stand: HTTP headers and query, or gRPC metadata (names in lower case). */
export interface ParameterSource {
  header(name: string): string | string[] | undefined;
  query?(name: string): string | undefined;
}

export interface ServiceParameters {
  /** `1.0`, `0.3`, or what the client sent when it is neither. */
  readonly version: string;
  readonly extensions: string[];
  readonly lastEventId?: number;
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/** Reads the service parameters of a call (3.2.6, 3.6, 14.2). Never throws. */
export function readServiceParameters(_source: ParameterSource): ServiceParameters {
  return { version: '1.0', extensions: [] };
}

/** The version to answer in. Errors: versionNotSupported. */
export function resolveVersion(raw: string, _served: readonly ProtocolVersion[]): ProtocolVersion {
  return raw as ProtocolVersion;
}
