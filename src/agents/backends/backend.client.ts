import { setTimeout as delay } from 'node:timers/promises';
import { SignJWT } from 'jose';
import type { Response } from 'undici';
import { traceHeaders } from '../../telemetry/index.js';
import { AgentFailure, type TurnContext } from '../agent.executor.js';
import { backendFetch } from './backend.fetch.js';
import { recordWithSecrets, withSecrets } from './secret.reference.js';

const LONGEST_PAUSE_MS = 30_000;
const FIRST_PAUSE_MS = 250;
/** The work has not begun: nobody was reached, or we were turned away. */
const NOT_BEGUN = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']);
const BUSY = new Set([429, 503]);
const CALLER_SECONDS = 300;

export interface BackendAccess {
  readonly headers?: Readonly<Record<string, string>>;
  /** Reference to the secret that signs `Parley-Caller`. */
  readonly caller?: string;
}

export interface BackendCall {
  readonly url: string;
  readonly method?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  /** Tries after the first one, where the work has not begun. */
  readonly retries: number;
}

/** The headers of a call to a back end: the caller's that are passed on, the configured ones, who calls, and the trace. */
export async function backendHeaders(
  { headers, caller }: BackendAccess,
  turn: TurnContext,
  audience: string,
): Promise<Record<string, string>> {
  return {
    ...turn.headers,
    ...traceHeaders(turn.traceparent),
    ...recordWithSecrets(headers),
    ...(caller !== undefined && { 'parley-caller': await signedCaller(turn, withSecrets(caller), audience) }),
  };
}

/** Who calls, as a JWT of five minutes: `sub`, `org`, `task`; `aud` is the origin of the back end. */
function signedCaller({ principal, task }: TurnContext, secret: string, audience: string): Promise<string> {
  return new SignJWT({ org: principal.organisation, task: task.id })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuer('parley')
    .setSubject(principal.subject)
    .setAudience(new URL(audience).origin)
    .setIssuedAt()
    .setExpirationTime(`${CALLER_SECONDS}s`)
    .sign(new TextEncoder().encode(secret));
}

/**
 * The back end's answer, of whatever status below 400. Follows no redirect: credentials go nowhere else.
 *
 * @throws AgentFailure that says what is wrong, and nothing of the inside
 */
export async function callBackend(call: BackendCall): Promise<Response> {
  const { url, method = 'POST', headers, body, signal } = call;
  for (let attempt = 0; ; attempt++) {
    const last = attempt >= call.retries;
    let response: Response;
    try {
      response = await backendFetch(url, { method, headers, body, signal, redirect: 'manual' });
    } catch (error) {
      if (signal.aborted) throw error;
      if (last || !notBegun(error)) throw new AgentFailure('The agent cannot be reached.', { cause: error });
      await delay(FIRST_PAUSE_MS * 2 ** attempt, undefined, { signal });
      continue;
    }
    if (response.status < 300) return response;
    const pause = retryAfterMs(response) ?? FIRST_PAUSE_MS * 2 ** attempt;
    const excerpt = (await response.text().catch(() => '')).slice(0, 1_000);
    if (last || !BUSY.has(response.status) || pause > LONGEST_PAUSE_MS) {
      throw new AgentFailure(failureText(response.status), { cause: `HTTP ${response.status}: ${excerpt}` });
    }
    await delay(pause, undefined, { signal });
  }
}

/** What the caller may know of a status. */
function failureText(status: number): string {
  if (status === 401 || status === 403) return 'The agent does not let the service in.';
  if (BUSY.has(status)) return 'The agent is busy; try again later.';
  return `The agent failed with HTTP status ${status}.`;
}

function retryAfterMs({ headers }: Response): number | undefined {
  const value = headers.get('retry-after');
  if (value === null) return undefined;
  const seconds = Number(value);
  const ms = Number.isNaN(seconds) ? Date.parse(value) - Date.now() : seconds * 1000;
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0);
}

/** Whether the error of a call says that the back end never saw it. */
export function notBegun(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: string } };
  return NOT_BEGUN.has(cause?.code ?? '');
}
