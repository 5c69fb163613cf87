import {
  type DescField,
  type DescMessage,
  type DescOneof,
  fromJson,
  type JsonObject,
  type JsonValue,
} from '@bufbuild/protobuf';
import { isFieldError } from '@bufbuild/protobuf/reflect';
import { A2AError, invalidField } from './errors.js';

/** The library counts nesting too. `parseJson` has the limit that clients see; this one guards the stack. */
export const READ_OPTIONS = { ignoreUnknownFields: true, recursionLimit: 1000 };

/** The path of a field under `at`, in JSON form. */
export function pathOf(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`;
}

export function isObject(json: JsonValue): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

/**
 * Finds out which field a failed read was about: the library's error names the type, not the path. Goes down
 * where a part of the value does not read by itself either.
 */
export function locate(desc: DescMessage, json: JsonValue, at: string, error: unknown): A2AError {
  if (isObject(json)) {
    for (const field of desc.fields) {
      if (!field.message) continue;
      for (const [value, path] of elementsOf(field, json, at)) {
        const problem = attempt(field.message, value);
        if (problem) return locate(field.message, value, path, problem);
      }
    }
  }
  return describe(desc, json, at, error);
}

function attempt(desc: DescMessage, json: JsonValue): unknown {
  try {
    fromJson(desc, json, READ_OPTIONS);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** The messages under a field with their paths. */
function elementsOf(field: DescField, json: JsonObject, at: string): [JsonValue, string][] {
  const value = json[field.jsonName] ?? json[field.name] ?? null;
  const path = pathOf(at, field.jsonName);
  if (value === null) return [];
  if (field.fieldKind === 'list') {
    return Array.isArray(value) ? value.map((item, index) => [item, `${path}[${index}]`]) : [];
  }
  if (field.fieldKind === 'map') {
    return isObject(value) ? Object.entries(value).map(([key, entry]) => [entry, pathOf(path, key)]) : [];
  }
  return [[value, path]];
}

/** Says what is wrong at one level. The cause of the library's error knows the field. */
function describe(desc: DescMessage, json: JsonValue, at: string, error: unknown): A2AError {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!isFieldError(cause)) return misfit(expectation(desc, json), at, error);
  const field = cause.field();
  if (field.kind === 'oneof') return misfit(`must have exactly one of ${namesIn(field)}`, at, error);
  const [, item, problem] = /^(?:list item #(\d+): )?(.*)$/s.exec(cause.message)!;
  const path = pathOf(at, field.jsonName);
  return invalidField(item ? `${path}[${Number(item) - 1}]` : path, problem!);
}

/** The members of a oneof as clients know them. */
export function namesIn(oneof: DescOneof): string {
  return oneof.fields.map((field) => field.jsonName).join(', ');
}

function expectation(desc: DescMessage, json: JsonValue): string {
  if (desc.typeName === 'google.protobuf.Timestamp') return 'must be an RFC 3339 time';
  return isObject(json) ? 'is not valid' : 'must be an object';
}

function misfit(problem: string, at: string, cause: unknown): A2AError {
  if (at !== '') return invalidField(at, problem);
  return new A2AError('invalidParams', { message: `The request ${problem}`, cause });
}
