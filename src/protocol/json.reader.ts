import {
  type DescEnum,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  type MessageShape,
} from '@bufbuild/protobuf';
import { excerpt, invalidField } from './errors.js';
import { isObject, locate, pathOf, READ_OPTIONS } from './json.diagnosis.js';

/** ProtoJSON to message. Errors: invalidParams with the path of the first field that does not fit. */
export function readMessage<D extends DescMessage>(schema: D, json: JsonValue, at: string): MessageShape<D> {
  const tidied = tidy(schema, json, at);
  try {
    return fromJson(schema, tidied, READ_OPTIONS);
  } catch (error) {
    throw locate(schema, tidied, at, error);
  }
}

/**
 * What the library would take silently or refuse wrongly, put right before it reads: it drops unknown enum
 * names together with unknown fields, and counts placeholders (`null`, `''`) as members of a oneof.
 */
function tidy(desc: DescMessage, json: JsonValue, at: string): JsonValue {
  if (!isObject(json)) return json;
  const { fields, oneofs } = planOf(desc);
  let tidied = json;
  for (const [name, field] of fields) {
    const value = json[name];
    if (value === undefined || value === null) continue;
    const kept = tidyField(field, value, pathOf(at, field.jsonName));
    if (kept === value) continue;
    if (tidied === json) tidied = { ...json };
    tidied[name] = kept;
  }
  return oneofs.reduce(withoutPlaceholders, tidied);
}

function tidyField(field: DescField, value: JsonValue, at: string): JsonValue {
  if (field.fieldKind === 'list' && Array.isArray(value)) {
    let tidied = value;
    value.forEach((item, index) => {
      const kept = tidyElement(field, item, `${at}[${index}]`);
      if (kept === item) return;
      if (tidied === value) tidied = [...value];
      tidied[index] = kept;
    });
    return tidied;
  }
  if (field.fieldKind === 'map' && isObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([key, entry]) => [key, tidyElement(field, entry, pathOf(at, key))]),
    );
  }
  return tidyElement(field, value, at);
}

function tidyElement(field: DescField, value: JsonValue, at: string): JsonValue {
  if (field.message) return tidy(field.message, value, at);
  if (field.enum && !isEnumValue(field.enum, value)) {
    throw invalidField(at, `${excerpt(JSON.stringify(value))} is not a ${field.enum.name}`);
  }
  return value;
}

function isEnumValue(desc: DescEnum, value: JsonValue): boolean {
  if (typeof value === 'string') return desc.values.some(({ name }) => name === value);
  return Number.isInteger(value);
}

/** Drops `null` beside other members, and empty strings beside a filled one. */
function withoutPlaceholders(json: JsonObject, members: readonly string[]): JsonObject {
  const present = members.filter((name) => json[name] !== undefined);
  if (present.length < 2) return json;
  const given = present.filter((name) => json[name] !== null);
  const filled = given.filter((name) => json[name] !== '');
  const kept = filled.length > 0 ? filled : given;
  if (kept.length === 0 || kept.length === present.length) return json;
  const tidied = { ...json };
  for (const name of present) if (!kept.includes(name)) delete tidied[name];
  return tidied;
}

interface Plan {
  /** The fields to look into, once for each of their names. */
  readonly fields: readonly (readonly [name: string, field: DescField])[];
  /** The names of the members of each oneof. */
  readonly oneofs: readonly (readonly string[])[];
}

const plans = new WeakMap<DescMessage, Plan>();

function planOf(desc: DescMessage): Plan {
  let plan = plans.get(desc);
  if (!plan) {
    const fields = desc.fields.filter(
      (field) => field.enum || (field.message && !isWellKnown(field.message)),
    );
    plan = {
      fields: fields.flatMap((field) => namesOf(field).map((name) => [name, field] as const)),
      oneofs: isWellKnown(desc) ? [] : desc.oneofs.map((oneof) => oneof.fields.flatMap(namesOf)),
    };
    plans.set(desc, plan);
  }
  return plan;
}

/** Struct, Value, Timestamp and the like have a JSON form of their own. */
function isWellKnown(desc: DescMessage): boolean {
  return desc.typeName.startsWith('google.protobuf.');
}

function namesOf(field: DescField): string[] {
  return field.name === field.jsonName ? [field.name] : [field.name, field.jsonName];
}
