import type { JsonObject, JsonValue } from '@bufbuild/protobuf';

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;
const TRACE = /^[0-9a-f]{32}$/;

/** Names under which the client's own JSON lies, which is kept to the last empty string. */
const FREE = new Set(['data', 'metadata']);

/**
 * An answer without what differs from call to call, so that two bindings can be compared: ids by the order of
 * their appearance, times, tokens and trace ids by their kind, and empty fields, which JSON shows where REQUIRED
 * and gRPC never does, not at all.
 */
export function normal(value: unknown): JsonValue {
  const ids = new Map<string, string>();
  const text = (given: string) =>
    given.replace(UUID, (id) => {
      if (!ids.has(id)) ids.set(id, `<id ${ids.size + 1}>`);
      return ids.get(id)!;
    });
  const walk = (json: JsonValue, free: boolean): JsonValue => {
    if (typeof json === 'string') return TRACE.test(json) ? '<trace>' : text(json).replace(TIME, '<time>');
    if (Array.isArray(json)) return json.map((item) => walk(item, free));
    if (typeof json !== 'object' || json === null) return json;
    const members: JsonObject = {};
    for (const [name, member] of Object.entries(json).sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (!free && isEmpty(member) && !FREE.has(name)) continue;
      members[name] = name === 'nextPageToken' ? '<token>' : walk(member, free || FREE.has(name));
    }
    return members;
  };
  return walk((value ?? null) as JsonValue, false);
}

const isEmpty = (value: JsonValue | undefined) =>
  value === undefined ||
  value === '' ||
  value === 0 ||
  value === false ||
  (Array.isArray(value) && !value.length);
