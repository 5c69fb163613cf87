import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { Headers } from '../clients/index.js';

/*
 * 1.0 and 0.3, each in JSON, as the two specifications have them. Written for the tests, from the facts, with
 * nothing of the service's own translation.
 */

/** Thrown for what 0.3 has no word for: the case is none of 0.3. */
export class NoWord extends Error {}

export type Json = Record<string, JsonValue>;

/** How the two JSON forms of 0.3 differ: objects with a `kind` on JSON-RPC, the proto's names elsewhere. */
export interface Form {
  readonly parts: 'parts' | 'content';
  role(name: string): string;
  partTo(part: Json): Json;
  partFrom(part: Json): Json;
  stateFrom(name: string): string;
}

const mapped = (list: JsonValue | undefined, map: (item: Json) => Json): Json[] | undefined =>
  (list as Json[] | undefined)?.map(map);

const defined = (json: Record<string, JsonValue | undefined>): Json =>
  Object.fromEntries(Object.entries(json).filter(([, value]) => value !== undefined)) as Json;

/** @throws NoWord where there is more than these members */
export function only(json: Json, ...names: readonly string[]): void {
  const other = Object.keys(json).find((name) => !names.includes(name));
  if (other) throw new NoWord(`0.3 has no ${other} here`);
}

const MARK = 'data_part_compat';

function wrapped({ data = null, metadata }: Json): { data: JsonValue; metadata: JsonValue | undefined } {
  const isObject = typeof data === 'object' && data !== null && !Array.isArray(data);
  return isObject
    ? { data, metadata }
    : { data: { value: data }, metadata: { ...(metadata as Json), [MARK]: true } };
}

function unwrapped({ data, metadata }: Json): Json {
  const { [MARK]: mark, ...others } = (metadata ?? {}) as Json;
  if (!mark) return defined({ data, metadata });
  const kept = Object.keys(others).length > 0 ? others : undefined;
  return defined({ data: (data as Json).value, metadata: kept });
}

export const kindForm: Form = {
  parts: 'parts',
  role: (name) =>
    ({ ROLE_USER: 'user', ROLE_AGENT: 'agent', user: 'ROLE_USER', agent: 'ROLE_AGENT' })[name] ?? name,
  partTo(part) {
    const { text, raw, url, filename: name, mediaType: mimeType, metadata } = part;
    if (raw !== undefined || url !== undefined) {
      return defined({ kind: 'file', file: defined({ bytes: raw, uri: url, name, mimeType }), metadata });
    }
    only(part, text === undefined ? 'data' : 'text', 'metadata');
    return defined(
      text === undefined ? { kind: 'data', ...wrapped(part) } : { kind: 'text', text, metadata },
    );
  },
  partFrom({ kind, text, file, data, metadata }) {
    if (kind === 'text') return defined({ text, metadata });
    if (kind === 'data') return unwrapped(defined({ data, metadata }));
    const { bytes: raw, uri: url, name: filename, mimeType: mediaType } = file as Json;
    return defined({ raw, url, filename, mediaType, metadata });
  },
  stateFrom: (name) => `TASK_STATE_${name.toUpperCase().replace('-', '_')}`,
};

export const protoForm: Form = {
  parts: 'content',
  role: (name) => name,
  partTo(part) {
    const { text, raw, url, filename: name, mediaType: mimeType, metadata } = part;
    if (raw !== undefined || url !== undefined) {
      const file = defined({ fileWithBytes: raw, fileWithUri: url, name, mimeType });
      return defined({ file, metadata });
    }
    only(part, text === undefined ? 'data' : 'text', 'metadata');
    if (text !== undefined) return defined({ text, metadata });
    const { data, metadata: marked } = wrapped(part);
    return defined({ data: { data }, metadata: marked });
  },
  partFrom({ text, file, data, metadata }) {
    if (text !== undefined) return defined({ text, metadata });
    if (data !== undefined) return unwrapped(defined({ data: (data as Json).data, metadata }));
    const { fileWithBytes: raw, fileWithUri: url, name: filename, mimeType: mediaType } = file as Json;
    return defined({ raw, url, filename, mediaType, metadata });
  },
  stateFrom: (name) => (name === 'TASK_STATE_CANCELLED' ? 'TASK_STATE_CANCELED' : name),
};

const isObject = (value: JsonValue | undefined): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The params of a send; what is no message is left as it is, to be refused. */
export function sendTo({ parts: partsName, role, partTo }: Form, request: JsonObject): Json {
  const { message, configuration, metadata } = request;
  const { returnImmediately = false, ...rest } = (configuration ?? {}) as Json;
  only(rest, 'historyLength', 'acceptedOutputModes');
  if (partsName === 'content' && rest.historyLength === 0)
    throw new NoWord('0 is no historyLength in a2a.v1');
  if (!isObject(message)) return defined({ message, metadata });
  const { parts, role: name, ...others } = message;
  const list: Json = Array.isArray(parts) ? { [partsName]: (parts as Json[]).map(partTo) } : {};
  const spoken: Json = typeof name === 'string' ? { role: role(name) } : {};
  return defined({
    message: { ...others, ...list, ...spoken },
    configuration: { ...rest, blocking: !returnImmediately },
    metadata,
  });
}

/** A push config without its task. */
export function configTo({ authentication, ...rest }: Record<string, JsonValue | undefined>): Json {
  if (!isObject(authentication)) return defined(rest);
  const { scheme, ...credentials } = authentication;
  return defined({ ...rest, authentication: { schemes: [scheme ?? null], ...credentials } });
}

/** The version that 1.0 needs is left out, and extensions have a name of their own. */
export function inOld({
  'a2a-version': version,
  'a2a-extensions': extensions,
  ...headers
}: Headers): Headers {
  if (version !== '1.0') throw new NoWord('the case is about versions');
  return extensions === undefined ? headers : { ...headers, 'x-a2a-extensions': extensions };
}

export function inModern({ 'x-a2a-extensions': extensions, ...headers }: Headers): Headers {
  if ('a2a-extensions' in headers) throw new Error('0.3 knows no A2A-Extensions');
  return extensions === undefined ? headers : { ...headers, 'a2a-extensions': extensions };
}

export function messageFrom(form: Form, { kind: _, role, ...message }: Json): Json {
  const { [form.parts]: parts, ...rest } = message;
  return defined({ ...rest, role: form.role(role as string), parts: mapped(parts, form.partFrom) });
}

const artifactFrom = (form: Form, { parts, ...rest }: Json): Json =>
  defined({ ...rest, parts: mapped(parts, form.partFrom) });

const statusFrom = (form: Form, { state, message, ...rest }: Json): Json =>
  defined({
    ...rest,
    state: form.stateFrom(state as string),
    message: isObject(message) ? messageFrom(form, message) : undefined,
  });

export function taskFrom(form: Form, { kind: _, status, artifacts, history, ...rest }: Json): Json {
  return defined({
    ...rest,
    status: statusFrom(form, status as Json),
    artifacts: mapped(artifacts, (artifact) => artifactFrom(form, artifact)),
    history: mapped(history, (message) => messageFrom(form, message)),
  });
}

const FINAL = /(COMPLETED|CANCELED|FAILED|REJECTED|INPUT_REQUIRED|AUTH_REQUIRED)$/;

/** One of the four members of a stream's frame. Holds `final` to the state. */
export function frameFrom(form: Form, frame: Json): Json {
  const { task, message, statusUpdate, artifactUpdate } = frame as Record<string, Json | undefined>;
  if (task) return { task: taskFrom(form, task) };
  if (message) return { message: messageFrom(form, message) };
  if (artifactUpdate) {
    const { kind: _, artifact, ...rest } = artifactUpdate;
    return { artifactUpdate: { ...rest, artifact: artifactFrom(form, artifact as Json) } };
  }
  const { kind: _, final = false, status, ...rest } = statusUpdate!;
  const read = statusFrom(form, status as Json);
  if (final !== FINAL.test(read.state as string)) throw new Error(`final is ${final} at ${read.state}`);
  return { statusUpdate: { ...rest, status: read } };
}

const MEMBERS: Readonly<Record<string, string>> = {
  task: 'task',
  message: 'message',
  'status-update': 'statusUpdate',
  'artifact-update': 'artifactUpdate',
};

/** An object with a kind as the member that it would be. */
export const byKind = (json: Json): Json => ({ [MEMBERS[json.kind as string]!]: json });
