import { CallFailure } from './call.failure.mjs';

/**
 * Sends one request; what fails on the way is a {@link CallFailure} without a reason.
 * @param {string} url
 * @param {{method?: string, body?: unknown, headers: Record<string, string>, signal: AbortSignal}} call
 */
export async function request(url, { method = 'POST', body, headers, signal }) {
  const content = body === undefined ? {} : { 'content-type': 'application/json' };
  try {
    return await fetch(url, {
      method,
      headers: { 'a2a-version': '1.0', ...content, ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    });
  } catch (cause) {
    throw broken(cause);
  }
}

/** @param {Response} response */
export async function readJson(response) {
  let text;
  try {
    text = await response.text();
  } catch (cause) {
    throw broken(cause);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new CallFailure(`HTTP ${response.status} without JSON: ${text.slice(0, 200)}`, 'NO_JSON');
  }
}

/** The reason in the error's ErrorInfo. @param {{message: string, details: {reason?: string}[]}} error */
export function refusal({ message, details }) {
  const reason = details?.find((detail) => detail.reason)?.reason ?? 'NO_REASON';
  return new CallFailure(`${reason}: ${message}`, reason);
}

/**
 * The frames of a stream of server-sent events. Aborts it when nothing came for `silenceMs`: a replica that is
 * stopped keeps its connections.
 * @param {Response} response
 * @param {{abort: AbortController, silenceMs: number}} limits
 */
export async function* readFrames(response, { abort, silenceMs }) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const watch = setTimeout(() => abort.abort(), silenceMs);
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause) => {
        throw broken(cause);
      });
      if (done) return;
      watch.refresh();
      const frames = (rest + value).split('\n\n');
      rest = frames.pop();
      for (const frame of frames) if (!frame.startsWith(':')) yield parseFrame(frame);
    }
  } finally {
    clearTimeout(watch);
    reader.cancel().catch(() => undefined);
  }
}

/** @returns {{id?: number, event?: string, data: any}} */
function parseFrame(frame) {
  const lines = frame.split('\n').map((line) => line.split(/: (.*)/s, 2));
  const { id, event, data } = Object.fromEntries(lines);
  return { id: id === undefined ? undefined : Number(id), event, data: JSON.parse(data) };
}

function broken(cause) {
  return new CallFailure(`no answer: ${cause?.cause?.code ?? cause?.name ?? cause}`);
}
