import { Agent, fetch, Headers, type RequestInit, type Response } from 'undici';
import { inChildSpan, traceHeaders } from '../../telemetry/index.js';

/** Turns have limits of their own for silence and total time. */
const PATIENT = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

/** One request to a back end, in a span of its own below the turn's until the head of the answer is there. */
export function backendFetch(url: string | URL, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  const wish = {
    parent: headers.get('traceparent') ?? undefined,
    attributes: { 'server.address': new URL(url).host },
    outbound: true,
  };
  return inChildSpan('a2a/backend', wish, (traceparent) => {
    for (const [name, value] of Object.entries(traceHeaders(traceparent))) headers.set(name, value);
    return fetch(url, { ...init, headers, dispatcher: PATIENT });
  });
}
