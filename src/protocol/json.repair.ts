import type { JsonValue } from '@bufbuild/protobuf';
import { NullValue, type Struct, type Value } from '@bufbuild/protobuf/wkt';

/**
 * How deep objects and lists may nest inside `data` and `metadata`. A reader of protobuf gives up at 100 messages
 * inside one another; a level of JSON is up to three of them, and what Parley sends stands in five more.
 */
export const DEEPEST_DATA = 30;

/** What to do with what Postgres, JSON or protobuf cannot hold. `at` is the path of the field. */
export interface Repair {
  /** A string with U+0000 or a lone surrogate. Returns the string to keep. */
  readonly text: (value: string, at: string) => string;
  /** NaN or an infinity. Returns what to keep. */
  readonly number: (value: number, at: string) => number | null;
  /** What stands deeper than {@link DEEPEST_DATA} is left out; or throws. */
  readonly tooDeep: (at: string) => void;
}

export function keepText(text: string, repair: Repair, at: string): string {
  return isSoundText(text) ? text : repair.text(text, at);
}

/** The JSON of a Struct: itself when sound, else a repaired copy. `room` is how many levels it may have. */
export function keepJson(json: JsonValue, repair: Repair, at: string, room = DEEPEST_DATA): JsonValue {
  if (isSound(json, room)) return json;
  if (typeof json === 'string') return repair.text(json, at);
  if (typeof json === 'number') return repair.number(json, at);
  if (room === 0) {
    repair.tooDeep(at);
    return null;
  }
  if (Array.isArray(json)) return json.map((item) => keepJson(item, repair, at, room - 1));
  return Object.fromEntries(
    Object.entries(json!).map(([key, value]) => [
      keepText(key, repair, at),
      keepJson(value, repair, at, room - 1),
    ]),
  );
}

/** Repairs a Value in place. One without a kind, which JSON has no word for, becomes null. */
export function keepValue(value: Value, repair: Repair, at: string, room = DEEPEST_DATA): Value {
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
    case 'structValue':
      if (room === 0) {
        repair.tooDeep(at);
        value.kind = nothing();
      } else if (kind.case === 'structValue') keepFields(kind.value, repair, at, room - 1);
      else for (const item of kind.value.values) keepValue(item, repair, at, room - 1);
  }
  return value;
}

const nothing = (): Value['kind'] => ({ case: 'nullValue', value: NullValue.NULL_VALUE });

function keepFields(struct: Struct, repair: Repair, at: string, room: number): void {
  const entries = Object.entries(struct.fields);
  for (const [, value] of entries) keepValue(value, repair, at, room);
  if (entries.every(([key]) => isSoundText(key))) return;
  struct.fields = Object.fromEntries(entries.map(([key, value]) => [keepText(key, repair, at), value]));
}

const isSoundText = (text: string) => !text.includes('\0') && text.isWellFormed();

function isSound(json: JsonValue, room: number): boolean {
  if (typeof json === 'string') return isSoundText(json);
  if (typeof json === 'number') return Number.isFinite(json);
  if (typeof json !== 'object' || json === null) return true;
  if (room === 0) return false;
  if (Array.isArray(json)) return json.every((item) => isSound(item, room - 1));
  for (const key in json) if (!isSoundText(key) || !isSound(json[key]!, room - 1)) return false;
  return true;
}

/** How many values there are, members and items all counted; it stops to count beyond `most`. */
export function countJson(json: JsonValue, most: number): number {
  return countAll(typeof json === 'object' && json !== null ? Object.values(json) : [], most, countJson);
}

export function countValue({ kind }: Value, most: number): number {
  if (kind.case === 'listValue') return countAll(kind.value.values, most, countValue);
  return countAll(kind.case === 'structValue' ? Object.values(kind.value.fields) : [], most, countValue);
}

function countAll<T>(items: readonly T[], most: number, count: (item: T, most: number) => number): number {
  let all = 1;
  for (const item of items) {
    if (all > most) break;
    all += count(item, most - all);
  }
  return all;
}
