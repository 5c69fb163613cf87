import type { JsonValue } from '@bufbuild/protobuf';
import { NullValue, type Struct, type Value } from '@bufbuild/protobuf/wkt';

/** What to do with text and numbers that Postgres or JSON cannot hold. `at` is the path of the field. */
export interface Repair {
  /** A string with U+0000 or a lone surrogate. Returns the string to keep. */
  readonly text: (value: string, at: string) => string;
  /** NaN or an infinity. Returns what to keep. */
  readonly number: (value: number, at: string) => number | null;
}

export function keepText(text: string, repair: Repair, at: string): string {
  return isSound(text) ? text : repair.text(text, at);
}

/** The JSON of a Struct: itself when sound, else a repaired copy. */
export function keepJson(json: JsonValue, repair: Repair, at: string): JsonValue {
  if (isSound(json)) return json;
  if (typeof json === 'string') return repair.text(json, at);
  if (typeof json === 'number') return repair.number(json, at);
  if (Array.isArray(json)) return json.map((item) => keepJson(item, repair, at));
  return Object.fromEntries(
    Object.entries(json!).map(([key, value]) => [keepText(key, repair, at), keepJson(value, repair, at)]),
  );
}

/** Repairs a Value in place. One without a kind, which JSON has no word for, becomes null. */
export function keepValue(value: Value, repair: Repair, at: string): Value {
  const { kind } = value;
  switch (kind.case) {
    case undefined:
      value.kind = nothing();
      break;
    case 'stringValue':
      kind.value = keepText(kind.value, repair, at);
      break;
    case 'numberValue': {
      const kept = keepJson(kind.value, repair, at) as number | null;
      value.kind = kept === null ? nothing() : { case: 'numberValue', value: kept };
      break;
    }
    case 'listValue':
      for (const item of kind.value.values) keepValue(item, repair, at);
      break;
    case 'structValue':
      keepFields(kind.value, repair, at);
  }
  return value;
}

const nothing = (): Value['kind'] => ({ case: 'nullValue', value: NullValue.NULL_VALUE });

function keepFields(struct: Struct, repair: Repair, at: string): void {
  const entries = Object.entries(struct.fields);
  for (const [, value] of entries) keepValue(value, repair, at);
  if (entries.every(([key]) => isSound(key))) return;
  struct.fields = Object.fromEntries(entries.map(([key, value]) => [keepText(key, repair, at), value]));
}

function isSound(json: JsonValue): boolean {
  if (typeof json === 'string') return !json.includes('\0') && json.isWellFormed();
  if (typeof json === 'number') return Number.isFinite(json);
  if (typeof json !== 'object' || json === null) return true;
  if (Array.isArray(json)) return json.every(isSound);
  for (const key in json) if (!isSound(key) || !isSound(json[key]!)) return false;
  return true;
}
