import { type DescMessage, fromJson, type JsonValue, type MessageShape, toJson } from '@bufbuild/protobuf';

export interface JsonLimits {
  /** How deep objects and arrays may nest. */
  readonly maxDepth: number;
}

export interface EncodeOptions {
  /** Writes `artifacts: []` for every task without artifacts (ListTasks with includeArtifacts). */
  readonly emptyArtifacts?: boolean;
}

/** Reads one JSON text. Errors: parseError; invalidParams when nested too deep. */
export function parseJson(body: Uint8Array, _limits: JsonLimits): JsonValue {
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
}

/** Reads a message from ProtoJSON (5.5, 5.7). `at` is the path of the value, for errors. Errors: invalidParams. */
export function decodeMessage<D extends DescMessage>(schema: D, json: JsonValue, _at = ''): MessageShape<D> {
  return fromJson(schema, json, { ignoreUnknownFields: true });
}

/** Writes a message as ProtoJSON (5.5). */
export function encodeMessage<D extends DescMessage>(
  schema: D,
  message: MessageShape<D>,
  _options: EncodeOptions = {},
): JsonValue {
  return toJson(schema, message);
}

/** The same as JSON text on one line. */
export function encodeMessageText<D extends DescMessage>(
  schema: D,
  message: MessageShape<D>,
  options: EncodeOptions = {},
): string {
  return JSON.stringify(encodeMessage(schema, message, options));
}
