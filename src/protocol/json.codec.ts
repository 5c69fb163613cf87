import type { DescMessage, JsonObject, JsonValue, MessageShape } from '@bufbuild/protobuf';
import { A2AError } from './errors.js';
import { readMessage } from './json.reader.js';
import { jsonWriter } from './json.writer.js';

export { escapeLineSeparators } from './json.writer.js';

export interface JsonLimits {
  /** How deep objects and arrays may nest. */
  readonly maxDepth: number;
  /** How many values there may be, members and items all counted and empty ones twice; any number otherwise. */
  readonly maxValues?: number;
}

export interface EncodeOptions {
  /** Writes `artifacts: []` for every task without artifacts (ListTasks with includeArtifacts). */
  readonly emptyArtifacts?: boolean;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads one JSON text. Lone surrogates become U+FFFD.
 * Errors: parseError, for bad UTF-8 too; invalidParams when it nests deeper or has more values than allowed.
 */
export function parseJson(body: Uint8Array, limits: JsonLimits): JsonValue {
  const problem = excessOf(body, limits);
  if (problem) throw new A2AError('invalidParams', { message: `The JSON ${problem}` });
  try {
    return JSON.parse(replaceLoneSurrogates(utf8.decode(body))) as JsonValue;
  } catch (cause) {
    throw new A2AError('parseError', { cause });
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

/**
 * Counts before parsing: ten megabytes of brackets cost `JSON.parse` seconds and half a gigabyte, and every value
 * costs ten steps more on its way to the agent and back.
 */
function excessOf(body: Uint8Array, { maxDepth, maxValues = Number.POSITIVE_INFINITY }: JsonLimits) {
  let depth = 0;
  let values = 1;
  for (let i = 0; i < body.length; i++) {
    const byte = body[i];
    if (byte === QUOTE) i = endOfString(body, i);
    else if (byte === COMMA) values++;
    else if (byte === 0x5d || byte === 0x7d) depth--;
    else if (byte === 0x5b || byte === 0x7b) {
      depth++;
      values++;
    }
    if (depth > maxDepth) return `nests deeper than ${maxDepth} levels`;
    if (values > maxValues) return `has more than ${maxValues} values`;
  }
  return undefined;
}

function endOfString(body: Uint8Array, start: number): number {
  let i = start + 1;
  while (i < body.length && body[i] !== QUOTE) i += body[i] === BACKSLASH ? 2 : 1;
  return i;
}

const SURROGATE = /\\ud[89a-f]/i;
/** One escape, a surrogate pair as a whole. */
const ESCAPE = /\\(?:ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|u[\da-f]{4}|.)/gi;

/** Text has no lone surrogates; JSON can still escape them. */
function replaceLoneSurrogates(json: string): string {
  if (!SURROGATE.test(json)) return json;
  return json.replace(ESCAPE, (match) => (match.length === 6 && SURROGATE.test(match) ? '\\ufffd' : match));
}

/**
 * Reads a message from ProtoJSON (specification 5.5, 5.7): unknown fields are ignored, unknown enum names are
 * not; `null` is unset; `null` and empty strings beside a filled member of a oneof do not count.
 * `at` is the path of the value in what the client sent. Errors: invalidParams with the path of the field.
 */
export function decodeMessage<D extends DescMessage>(schema: D, json: JsonValue, at = ''): MessageShape<D> {
  return readMessage(schema, json, at);
}

/**
 * Writes a message as ProtoJSON on one line (specification 5.5): camelCase, enum names, standard base64, times
 * in UTC with milliseconds; REQUIRED fields also when empty, U+2028 and U+2029 escaped.
 */
export function encodeMessageText<D extends DescMessage>(
  schema: D,
  message: MessageShape<D>,
  options: EncodeOptions = {},
): string {
  return jsonWriter(schema, options.emptyArtifacts ? 'withArtifacts' : 'plain')(message);
}

/** The same as a JSON value. Prefer the text where text is wanted. */
export function encodeMessage<D extends DescMessage>(
  schema: D,
  message: MessageShape<D>,
  options: EncodeOptions = {},
): JsonObject {
  return JSON.parse(encodeMessageText(schema, message, options)) as JsonObject;
}
