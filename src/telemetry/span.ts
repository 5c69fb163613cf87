import {
  type Attributes,
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';

const tracer = trace.getTracer('parley');

export interface SpanWish {
  readonly attributes?: Attributes;
  /** Default: the active span. */
  readonly parent?: Context;
  /** Other spans that this one works for, or comes after. */
  readonly links?: readonly SpanContext[];
  /** Calls another system. */
  readonly outbound?: boolean;
}

/** Runs the work in a span of its own. The span ends with it; what it throws becomes the span's error. */
export async function inSpan<T>(name: string, wish: SpanWish, work: (span: Span) => Promise<T>): Promise<T> {
  const { attributes, parent = context.active(), links = [] } = wish;
  const span = tracer.startSpan(
    name,
    {
      attributes,
      links: links.map((link) => ({ context: link })),
      kind: wish.outbound ? SpanKind.CLIENT : SpanKind.INTERNAL,
    },
    parent,
  );
  try {
    return await context.with(trace.setSpan(parent, span), work, undefined, span);
  } catch (error) {
    markError(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** {@link inSpan}, but only within something that is traced: what nobody follows makes no trace of its own. */
export function inChildSpan<T>(name: string, wish: SpanWish, work: () => Promise<T>): Promise<T> {
  return trace.getActiveSpan()?.isRecording() ? inSpan(name, wish, work) : work();
}

export function markError(span: Span, error: unknown): void {
  if (error instanceof Error) span.recordException(error);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** The span that is active and followed; undefined where there is none. */
export function activeSpan(): SpanContext | undefined {
  const span = trace.getActiveSpan();
  return span?.isRecording() ? span.spanContext() : undefined;
}

/** Headers that carry the active trace to another system. Empty while nothing is traced. */
export function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  return headers;
}

/** Where work goes on that a request asked for: in the request's trace, whatever is active here. */
export function contextOf(traceparent: string | undefined): Context {
  return traceparent === undefined ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, { traceparent });
}
