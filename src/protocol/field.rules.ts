import type { DescField, DescMessage, DescOneof } from '@bufbuild/protobuf';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { isRequired } from './field.behaviour.js';
import { Role } from './gen/a2a_pb.js';
import { namesIn, pathOf } from './json.diagnosis.js';
import type { Fields } from './message.walker.js';

/** Takes down what is wrong with one field, by its path in JSON form. */
export type Report = (field: string, description: string) => void;

/** One thing that must hold for a message on its own. */
export type Rule = (message: Fields, at: string, report: Report) => void;

const rules = new WeakMap<DescMessage, readonly Rule[]>();

/** The rules for a request message of this type, compiled once. Messages inside it have their own. */
export function rulesOf(desc: DescMessage): readonly Rule[] {
  let compiled = rules.get(desc);
  if (!compiled) {
    compiled = [...desc.fields.flatMap((field) => fieldRule(field) ?? []), ...desc.oneofs.map(exactlyOne)];
    rules.set(desc, compiled);
  }
  return compiled;
}

function fieldRule(field: DescField): Rule | undefined {
  const required = isRequired(field);
  const check = checkOf(field);
  if (!required && !check) return undefined;
  const name = field.localName;
  const absence = field.fieldKind === 'list' ? 'must not be empty' : 'is required';
  return (message, at, report) => {
    const value = message[name];
    const missing = isUnset(field, value);
    const problem = missing ? required && absence : check?.(value);
    if (problem) report(pathOf(at, field.jsonName), problem);
  };
}

function isUnset(field: DescField, value: unknown): boolean {
  if (field.fieldKind === 'list') return (value as unknown[]).length === 0;
  return value === undefined || value === '' || (field.fieldKind === 'enum' && value === 0);
}

function exactlyOne(oneof: DescOneof): Rule {
  const names = namesIn(oneof);
  return (message, at, report) => {
    const content = message[oneof.localName] as { case?: string };
    if (content.case === undefined) report(at, `must have exactly one of ${names}`);
  };
}

/** Says what is wrong with a value that is set, if anything is. */
type Check = (value: unknown) => string | undefined;

function checkOf(field: DescField): Check | undefined {
  const own = CHECKS[`${field.parent.typeName}.${field.name}`];
  if (own) return own;
  if (field.enum) {
    const { name, value: known } = field.enum;
    return (value) => (known[value as number] ? undefined : `${value} is not a ${name}`);
  }
  return field.message?.typeName === 'google.protobuf.Timestamp' ? storableTime : undefined;
}

const visibleAscii: Check = (value) =>
  /^[\x21-\x7e]{1,200}$/.test(value as string) ? undefined : 'must be 1 to 200 characters of visible ASCII';

const between =
  (low: number, high: number): Check =>
  (value) =>
    (value as number) >= low && (value as number) <= high ? undefined : `must be from ${low} to ${high}`;

const notNegative: Check = (value) => ((value as number) >= 0 ? undefined : 'must not be negative');

const fromUser: Check = (value) => (value === Role.USER ? undefined : 'must be ROLE_USER');

/** The years 1 to 9999, as google.protobuf.Timestamp has them. */
const storableTime: Check = (value) => {
  const { seconds, nanos } = value as Timestamp;
  const valid = seconds >= -62_135_596_800n && seconds <= 253_402_300_799n && nanos >= 0 && nanos < 1e9;
  return valid ? undefined : 'must be a time of the years 1 to 9999';
};

/** What the proto cannot say, by the full name of the field (specification 3.1.4, 3.2.4). */
const CHECKS: Readonly<Record<string, Check | undefined>> = {
  'lf.a2a.v1.Message.message_id': visibleAscii,
  'lf.a2a.v1.Message.context_id': visibleAscii,
  'lf.a2a.v1.Message.role': fromUser,
  'lf.a2a.v1.TaskPushNotificationConfig.id': visibleAscii,
  'lf.a2a.v1.SendMessageConfiguration.history_length': notNegative,
  'lf.a2a.v1.GetTaskRequest.history_length': notNegative,
  'lf.a2a.v1.ListTasksRequest.context_id': visibleAscii,
  'lf.a2a.v1.ListTasksRequest.history_length': notNegative,
  'lf.a2a.v1.ListTasksRequest.page_size': between(1, 100),
  'lf.a2a.v1.ListTaskPushNotificationConfigsRequest.page_size': between(0, 100),
};
