import {
  type Attributes,
  type Context,
  context,
  INVALID_SPAN_CONTEXT,
  INVALID_TRACEID,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';

const tracer = trace.getTracer('parley');

/*
 * A trace is carried by the W3C `traceparent` of the span that the work belongs to: over the wire, in the
 * database, and from function to function. What OpenTelemetry carries behind the functions costs every promise
 * of the process on Node 20, also where nothing is sampled; a string costs nothing.
 */

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/;
const UNRECORDED = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);

export interface SpanWish {
  readonly attributes?: Attributes;
  /** `traceparent` of the span above. Default: what is active, which the stock instrumentations make. */
  readonly parent?: string;
  /** `traceparent` of other spans that this one works for, or comes after. */
  readonly links?: readonly string[];
  /** Calls another system. */
  readonly outbound?: boolean;
}

/** A span with what carries it to the work below it. */
export interface OpenSpan {
  readonly span: Span;
  readonly context: Context;
  /** Undefined where there is neither tracing nor a caller's trace. */
  readonly traceparent: string | undefined;
}

/** Below a span that nobody records there is none: the trace is passed on as it is. */
export function openSpan(name: string, wish: SpanWish): OpenSpan {
  const { attributes, links = [] } = wish;
  if (wish.parent !== undefined && !isFollowed(wish.parent))
    return { span: UNRECORDED, context: contextOf(wish.parent), traceparent: wish.parent };
  const parent = wish.parent === undefined ? context.active() : contextOf(wish.parent);
  const kind = wish.outbound ? SpanKind.CLIENT : SpanKind.INTERNAL;
  const linked = links.flatMap((link) => {
    const spanContext = trace.getSpanContext(contextOf(link));
    return spanContext ? [{ context: spanContext }] : [];
  });
  const span = tracer.startSpan(name, { attributes, links: linked, kind }, parent);
  return { span, context: trace.setSpan(parent, span), traceparent: traceparentOf(span) };
}

/** Runs the work in a span of its own. The span ends with it; what it throws becomes the span's error. */
export function inSpan<T>(
  name: string,
  wish: SpanWish,
  work: (span: Span, traceparent: string | undefined) => Promise<T>,
): Promise<T> {
  const open = openSpan(name, wish);
  return within(open, () => work(open.span, open.traceparent));
}

/** Runs the work in an open span, and ends that with it. */
export async function within<T>({ span, context: inside }: OpenSpan, work: () => Promise<T>): Promise<T> {
  try {
    return await context.with(inside, work);
  } catch (error) {
    markError(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** {@link inSpan}, but only below a span that is followed: other work makes no trace of its own. */
export function inChildSpan<T>(
  name: string,
  wish: SpanWish,
  work: (traceparent: string | undefined) => Promise<T>,
): Promise<T> {
  const { parent } = wish;
  return isFollowed(parent) ? inSpan(name, wish, (_span, own) => work(own)) : work(parent);
}

export function markError(span: Span, error: unknown): void {
  if (error instanceof Error) span.recordException(error);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** Whether somebody records what belongs to the span. */
export function isFollowed(traceparent: string | undefined): traceparent is string {
  return traceparent !== undefined && (Number.parseInt(traceparent.slice(-2), 16) & TraceFlags.SAMPLED) !== 0;
}

export function traceparentOf(span: Span): string | undefined {
  const { traceId, spanId, traceFlags } = span.spanContext();
  if (traceId === INVALID_TRACEID) return undefined;
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

export const traceIdOf = (traceparent: string | undefined): string | undefined => traceparent?.split('-')[1];

/** Headers that carry a trace to another system, as the configured propagators have them. */
export function traceHeaders(traceparent: string | undefined): Record<string, string> {
  const headers: Record<string, string> = traceparent === undefined ? {} : { traceparent };
  propagation.inject(traceparent === undefined ? context.active() : contextOf(traceparent), headers);
  return headers;
}

/** The context of the span of that `traceparent`; the root where it is none. */
function contextOf(traceparent: string | undefined): Context {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT;
  const traceFlags = Number.parseInt(flags, 16);
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

/** What a call comes in with: the span of the transport where that is instrumented, else what the caller sent. */
export function arrivalContext(traceparent: string | undefined, tracestate?: string): Context {
  const active = context.active();
  if (traceparent === undefined || trace.getSpan(active) !== undefined) return active;
  return propagation.extract(active, { traceparent, tracestate });
}
