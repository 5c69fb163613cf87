import type { JsonObject, JsonValue } from '@bufbuild/protobuf';

/** What proto-loader makes of google.protobuf.Value and Struct. */
interface Value {
  readonly kind?: string;
  readonly nullValue?: string;
  readonly numberValue?: number;
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly structValue?: Struct;
  readonly listValue?: { values?: Value[] };
}

interface Struct {
  readonly fields?: Record<string, Value>;
}

/** From ProtoJSON to the objects that proto-loader's stubs take. */
export function toStub(json: JsonValue, name = ''): unknown {
  if (name === 'metadata') return toStruct(json as JsonObject);
  if (name === 'data') return toValue(json);
  if (name === 'raw') return Buffer.from(json as string, 'base64');
  if (name === 'statusTimestampAfter') {
    const ms = Date.parse(json as string);
    return { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1e6 };
  }
  if (Array.isArray(json)) return json.map((item) => toStub(item));
  if (typeof json !== 'object' || json === null) return json;
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, toStub(value, key)]));
}

/** From the objects of proto-loader's stubs to ProtoJSON. */
export function fromStub(value: unknown, name = ''): JsonValue {
  if (name === 'metadata') return fromStruct(value as Struct);
  if (name === 'data') return fromValue(value as Value);
  if (value instanceof Buffer) return value.toString('base64');
  if (name === 'timestamp') {
    const { seconds = 0, nanos = 0 } = value as { seconds?: number; nanos?: number };
    return new Date(seconds * 1000 + nanos / 1e6).toISOString();
  }
  if (Array.isArray(value)) return value.map((item) => fromStub(item));
  if (typeof value !== 'object' || value === null) return value as JsonValue;
  const members = Object.entries(value).filter(([key, member]) => !isOneofName(key, member));
  return Object.fromEntries(members.map(([key, member]) => [key, fromStub(member, key)]));
}

/** proto-loader says which member of a oneof is set in a field of the oneof's own name. */
const isOneofName = (key: string, value: unknown) =>
  key.startsWith('_') || ((key === 'payload' || key === 'content') && typeof value === 'string');

function toStruct(json: JsonObject): Struct {
  return { fields: Object.fromEntries(Object.entries(json).map(([key, value]) => [key, toValue(value)])) };
}

function toValue(json: JsonValue): Value {
  if (json === null) return { nullValue: 'NULL_VALUE' };
  if (Array.isArray(json)) return { listValue: { values: json.map(toValue) } };
  if (typeof json === 'object') return { structValue: toStruct(json) };
  if (typeof json === 'string') return { stringValue: json };
  return typeof json === 'number' ? { numberValue: json } : { boolValue: json };
}

function fromStruct({ fields = {} }: Struct): JsonObject {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, fromValue(value)]));
}

function fromValue(value: Value): JsonValue {
  if (value.kind === 'structValue') return fromStruct(value.structValue ?? {});
  if (value.kind === 'listValue') return (value.listValue?.values ?? []).map(fromValue);
  return value.stringValue ?? value.numberValue ?? value.boolValue ?? null;
}
