import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { pathOf } from './json.diagnosis.js';
import { countJson, countValue, keepJson, keepText, keepValue, type Repair } from './json.repair.js';

export type Fields = Record<string, unknown>;

export interface Visitor extends Repair {
  /** Sees every message before its fields. */
  readonly enter?: (desc: DescMessage, message: Fields, at: string) => void;
  /** Hears of every Struct and Value before what is in it; `count` counts its values, up to one more than `most`. */
  readonly json?: (count: (most: number) => number, at: string) => void;
}

/** Walks one value and returns what to keep of it. */
type Keep = (value: unknown, visitor: Visitor, at: string) => unknown;
type Count = (value: unknown, most: number) => number;
type Step = (message: Fields, visitor: Visitor, at: string) => void;

const plans = new WeakMap<DescMessage, readonly Step[]>();

/**
 * Goes through a message, in place: every message, every string, every number that JSON cannot hold.
 * Compiled once per descriptor. Maps are left out: no request and nothing that an agent says has one.
 */
export function walk(desc: DescMessage, message: Fields, visitor: Visitor, at = ''): void {
  visitor.enter?.(desc, message, at);
  for (const step of planOf(desc)) step(message, visitor, at);
}

function planOf(desc: DescMessage): readonly Step[] {
  let plan = plans.get(desc);
  if (!plan) {
    plan = desc.fields.flatMap((field) => stepOf(field) ?? []);
    plans.set(desc, plan);
  }
  return plan;
}

function stepOf(field: DescField): Step | undefined {
  const keep = keepOf(field);
  if (!keep || field.fieldKind === 'map') return undefined;
  const name = field.localName;
  if (field.fieldKind === 'list') {
    return (message, visitor, at) => {
      const path = pathOf(at, field.jsonName);
      const list = message[name] as unknown[];
      for (let i = 0; i < list.length; i++) list[i] = keep(list[i], visitor, `${path}[${i}]`);
    };
  }
  if (field.oneof) {
    const group = field.oneof.localName;
    return (message, visitor, at) => {
      const content = message[group] as { case?: string; value?: unknown };
      if (content.case === name) content.value = keep(content.value, visitor, pathOf(at, field.jsonName));
    };
  }
  return (message, visitor, at) => {
    const value = message[name];
    if (value !== undefined && value !== '') message[name] = keep(value, visitor, pathOf(at, field.jsonName));
  };
}

function keepOf(field: DescField): Keep | undefined {
  const desc = field.message;
  if (!desc) return field.scalar === ScalarType.STRING ? (keepText as Keep) : undefined;
  // The library keeps a Struct as plain JSON, except inside a Value.
  if (desc.typeName === 'google.protobuf.Struct') return weighed(keepJson as Keep, countJson as Count);
  if (desc.typeName === 'google.protobuf.Value') return weighed(keepValue as Keep, countValue as Count);
  return (value, visitor, at) => {
    walk(desc, value as Fields, visitor, at);
    return value;
  };
}

function weighed(keep: Keep, count: Count): Keep {
  return (value, visitor, at) => {
    visitor.json?.((most) => count(value, most), at);
    return keep(value, visitor, at);
  };
}
