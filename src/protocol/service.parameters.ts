import type { ProtocolVersion } from './call.context.js';
import { A2AError, excerpt } from './errors.js';

/** Where service parameters stand: HTTP headers and query, or gRPC metadata. Header names are in lower case. */
export interface ParameterSource {
  header(name: string): string | string[] | undefined;
  query?(name: string): string | undefined;
}

export interface ServiceParameters {
  /** `1.0`, `0.3`, or what the client sent when it is neither. */
  readonly version: string;
  /** URIs of `A2A-Extensions` and, for 0.3, `X-A2A-Extensions`; each once, in order. */
  readonly extensions: string[];
  /** Of `Last-Event-ID` (HTTP) or `a2a-last-event-id` (gRPC); undefined when it is no event number. */
  readonly lastEventId?: number;
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/** Reads the service parameters of a call (specification 3.2.6, 3.6). Never throws. */
export function readServiceParameters(source: ParameterSource): ServiceParameters {
  return {
    version: versionAsked(source),
    extensions: [...new Set(EXTENSION_HEADERS.flatMap((name) => readList(source.header(name))))],
    lastEventId: readEventId(source),
    traceparent: first(source.header('traceparent')),
    tracestate: readList(source.header('tracestate')).join(',') || undefined,
  };
}

/** The version to answer in. Errors: versionNotSupported, with `requested` and `supported` in its metadata. */
export function resolveVersion(raw: string, served: readonly ProtocolVersion[]): ProtocolVersion {
  const version = served.find((known) => known === raw);
  if (version) return version;
  const supported = served.join(', ');
  throw new A2AError('versionNotSupported', {
    message: `A2A ${excerpt(raw)} is not served here${served.includes('1.0') ? ASK_FOR_1_0 : ''}`,
    metadata: { requested: raw, supported, supportedVersions: supported },
  });
}

const ASK_FOR_1_0 = '; send the header A2A-Version: 1.0 (without it a call counts as 0.3)';

const EXTENSION_HEADERS = ['a2a-extensions', 'x-a2a-extensions'];

/** The version that a call asks for; an absent one means 0.3 (3.6.2). Patch numbers do not count. */
export function versionAsked(source: ParameterSource): string {
  const raw = first(source.header('a2a-version')) || source.query?.('A2A-Version')?.trim() || '0.3';
  const [, majorMinor] = /^(\d+\.\d+)(?:\.\d+)?$/.exec(raw) ?? [];
  return majorMinor === '1.0' || majorMinor === '0.3' ? majorMinor : raw;
}

function readEventId(source: ParameterSource): number | undefined {
  const raw = first(source.header('last-event-id')) || first(source.header('a2a-last-event-id'));
  if (!raw || !/^\d+$/.test(raw)) return undefined;
  const id = Number(raw);
  return Number.isSafeInteger(id) ? id : undefined;
}

function first(value: string | string[] | undefined): string | undefined {
  return (Array.isArray(value) ? value[0] : value)?.trim();
}

function readList(value: string | string[] | undefined): string[] {
  return [value ?? []]
    .flat()
    .flatMap((line) => line.split(','))
    .map((item) => item.trim())
    .filter(Boolean);
}
