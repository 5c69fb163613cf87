import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type Message,
  ScalarType,
  toJsonString,
} from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence, type Timestamp, type Value } from '@bufbuild/protobuf/wkt';
import { isRequired } from './field.behaviour.js';

/**
 * Message to ProtoJSON text in one pass, without an object tree in between, compiled once per descriptor:
 * every reply, frame and row goes through here.
 *
 * - `plain`: REQUIRED fields and whatever is set (specification 5.5, 5.7).
 * - `withArtifacts`: also the `artifacts` of a task that has none.
 * - `canonical`: as plain, keys of Structs and maps in order, so that equal content gives equal text.
 */
export type JsonFlavour = 'plain' | 'withArtifacts' | 'canonical';

type Fields = Readonly<Record<string, unknown>>;
type ValueWriter = (value: unknown) => string;
/** `"name":value`, or nothing when the field is left out. */
type FieldWriter = (message: Fields) => string;

const writers: Record<JsonFlavour, WeakMap<DescMessage, ValueWriter>> = {
  plain: new WeakMap(),
  withArtifacts: new WeakMap(),
  canonical: new WeakMap(),
};

/** The writer of a message type. Takes what the library keeps in a field of that type. */
export function jsonWriter(desc: DescMessage, flavour: JsonFlavour): ValueWriter {
  return writers[flavour].get(desc) ?? compile(desc, flavour);
}

function compile(desc: DescMessage, flavour: JsonFlavour): ValueWriter {
  const fields: FieldWriter[] = [];
  const write =
    wellKnownWriter(desc, flavour) ?? ((message: unknown) => writeFields(fields, message as Fields));
  // Known before its fields are compiled: message types may contain themselves.
  writers[flavour].set(desc, write);
  for (const field of [...desc.fields].sort((a, b) => a.number - b.number)) {
    fields.push(fieldWriter(field, flavour));
  }
  return write;
}

function writeFields(fields: readonly FieldWriter[], message: Fields): string {
  let text = '';
  for (const field of fields) {
    const written = field(message);
    if (written !== '') text += text === '' ? written : `,${written}`;
  }
  return `{${text}}`;
}

function fieldWriter(field: DescField, flavour: JsonFlavour): FieldWriter {
  const name = field.localName;
  const key = `${JSON.stringify(field.jsonName)}:`;
  const required = isRequired(field) || (flavour === 'withArtifacts' && String(field) === TASK_ARTIFACTS);
  if (field.fieldKind === 'list') {
    const write = listWriter(elementWriter(field, flavour));
    return (message) => {
      const list = message[name] as readonly unknown[];
      return list.length > 0 || required ? key + write(list) : '';
    };
  }
  if (field.fieldKind === 'map') {
    const write = recordWriter(elementWriter(field, flavour), flavour);
    return (message) => {
      const text = write(message[name] as Fields);
      return text !== '{}' || required ? key + text : '';
    };
  }
  const write = elementWriter(field, flavour);
  if (field.oneof) {
    const group = field.oneof.localName;
    return (message) => {
      const content = message[group] as { case?: string; value?: unknown };
      return content.case === name ? key + write(content.value) : '';
    };
  }
  if (field.presence !== FeatureSet_FieldPresence.IMPLICIT) {
    return (message) => (message[name] === undefined ? '' : key + write(message[name]));
  }
  // An enum's zero means "unspecified" and is never sent.
  const written = required && field.fieldKind !== 'enum';
  return (message) => (written || !isZero(message[name]) ? key + write(message[name]) : '');
}

const TASK_ARTIFACTS = 'field lf.a2a.v1.Task.artifacts';

function isZero(value: unknown): boolean {
  return !value || (value instanceof Uint8Array && value.length === 0);
}

/** The writer of a singular value, a list item or a map value. */
function elementWriter(field: DescField, flavour: JsonFlavour): ValueWriter {
  if (field.message) {
    // The library keeps a Struct as plain JSON, except inside a Value.
    if (field.message.typeName === 'google.protobuf.Struct') return structWriter(flavour);
    return jsonWriter(field.message, flavour);
  }
  return field.enum ? enumWriter(field.enum) : scalarWriter(field.scalar);
}

function enumWriter(desc: DescEnum): ValueWriter {
  const names = new Map(desc.values.map((value) => [value.number, JSON.stringify(value.name)]));
  return (value) => names.get(value as number) ?? String(value);
}

function scalarWriter(scalar: ScalarType | undefined): ValueWriter {
  switch (scalar) {
    case ScalarType.STRING:
      return quote as ValueWriter;
    case ScalarType.BYTES:
      return writeBytes as ValueWriter;
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return (value) => `"${value}"`;
    default:
      return String;
  }
}

function writeBytes(bytes: Uint8Array): string {
  return `"${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')}"`;
}

/** Anything but what may stand as it is: control characters, `"`, `\`, line separators and surrogates. */
const SPECIAL = /[^ !#-[\]-\u2027\u202a-\ud7ff\ue000-\uffff]/;

/** Most strings need no escape; the test costs half of what `JSON.stringify` does. */
function quote(text: string): string {
  return SPECIAL.test(text) ? escapeLineSeparators(JSON.stringify(text)) : `"${text}"`;
}

/** U+2028 and U+2029 end a line for some readers of SSE; JSON may carry them escaped. */
export function escapeLineSeparators(json: string): string {
  if (!json.includes('\u2028') && !json.includes('\u2029')) return json;
  return json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}

function listWriter(write: ValueWriter): ValueWriter {
  return (list) => {
    let text = '';
    for (const item of list as readonly unknown[]) text += text === '' ? write(item) : `,${write(item)}`;
    return `[${text}]`;
  };
}

function recordWriter(write: ValueWriter, flavour: JsonFlavour): (record: Fields) => string {
  return (record) => {
    const keys = Object.keys(record);
    if (flavour === 'canonical') keys.sort();
    let text = '';
    for (const key of keys) text += `${text === '' ? '' : ','}${quote(key)}:${write(record[key])}`;
    return `{${text}}`;
  };
}

function structWriter(flavour: JsonFlavour): ValueWriter {
  if (flavour !== 'canonical') return (json) => escapeLineSeparators(JSON.stringify(json));
  const list = listWriter((value) => json(value));
  const record = recordWriter((value) => json(value), flavour);
  const json: ValueWriter = (value) => {
    if (Array.isArray(value)) return list(value);
    return typeof value === 'object' && value !== null ? record(value as Fields) : JSON.stringify(value);
  };
  return json;
}

function wellKnownWriter(desc: DescMessage, flavour: JsonFlavour): ValueWriter | undefined {
  switch (desc.typeName) {
    case 'google.protobuf.Timestamp':
      return writeTimestamp as ValueWriter;
    case 'google.protobuf.Value':
      return valueWriter(flavour) as ValueWriter;
    case 'google.protobuf.Any':
    case 'google.protobuf.Duration':
    case 'google.protobuf.FieldMask':
      return (message) => toJsonString(desc, message as Message);
    default:
      return undefined;
  }
}

/** Always with milliseconds; finer digits are cut. */
function writeTimestamp({ seconds, nanos }: Timestamp): string {
  return `"${new Date(Number(seconds) * 1000 + Math.floor(nanos / 1e6)).toISOString()}"`;
}

function valueWriter(flavour: JsonFlavour): (value: Value) => string {
  const list = listWriter((value) => write(value as Value));
  const record = recordWriter((value) => write(value as Value), flavour);
  const write = ({ kind }: Value): string => {
    switch (kind.case) {
      case 'structValue':
        return record(kind.value.fields);
      case 'listValue':
        return list(kind.value.values);
      case 'stringValue':
        return quote(kind.value);
      case 'boolValue':
        return String(kind.value);
      case 'numberValue':
        return JSON.stringify(kind.value);
      default:
        return 'null';
    }
  };
  return write;
}
