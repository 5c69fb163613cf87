import { createRegistry, type Message } from '@bufbuild/protobuf';
import { A2AError, type FieldViolation, invalidField, invalidFields } from './errors.js';
import { type Report, rulesOf } from './field.rules.js';
import { file_a2a } from './gen/a2a_pb.js';
import { DEEPEST_DATA } from './json.repair.js';
import { type Fields, type Visitor, walk } from './message.walker.js';
import { OPERATIONS, type OperationName, type RequestOf } from './operations.js';

const MOST_VIOLATIONS = 20;

const TOO_DEEP = `nests deeper than ${DEEPEST_DATA} levels`;

/**
 * Checks a request against its descriptor (REQUIRED, oneofs, enums; specification 5.7) and the rules of Parley
 * (ids, ranges, U+0000, depth of data), nested messages too. In place: lone surrogates become U+FFFD, a Value without
 * a kind null.
 * Errors: invalidParams with up to 20 violations, and at once for more than `maxValues` values in data and metadata.
 */
export function validateRequest<O extends OperationName>(
  operation: O,
  request: RequestOf<O>,
  maxValues = Number.POSITIVE_INFINITY,
): void {
  const violations: FieldViolation[] = [];
  const report: Report = (field, description) => {
    if (violations.length < MOST_VIOLATIONS) violations.push({ field, description });
  };
  if (operation === 'createTaskPushNotificationConfig' && (request as Fields).taskId === '') {
    report('taskId', 'is required');
  }
  walk(OPERATIONS[operation].input, request as Fields, validation(report, maxValues));
  if (violations.length > 0) throw invalidFields(violations);
}

function validation(report: Report, maxValues: number): Visitor {
  let left = maxValues;
  return {
    json: (count, at) => {
      left -= count(left);
      if (left >= 0) return;
      throw invalidField(at, `${maxValues} values is the most that a request may have`);
    },
    enter: (desc, message, at) => {
      for (const rule of rulesOf(desc)) rule(message, at, report);
    },
    text: (value, at) => {
      if (value.includes('\0')) report(at, 'must not contain U+0000');
      return value.toWellFormed();
    },
    number: (value, at) => {
      report(at, `${value} is not a JSON number`);
      return value;
    },
    tooDeep: (at) => report(at, TOO_DEEP),
  };
}

const REPLACEMENT = '\ufffd';

const sanitising: Visitor = {
  text: (value) => value.replaceAll('\0', REPLACEMENT).toWellFormed(),
  number: () => null,
  tooDeep: (at) => {
    throw new A2AError('invalidAgentResponse', { message: `${at} ${TOO_DEEP}` });
  },
};

const registry = createRegistry(file_a2a);

/**
 * Makes what an agent says storable, in place: U+0000 and lone surrogates become U+FFFD, NaN and infinities
 * inside Structs and Values null. Takes a message of lf.a2a.v1.
 * Errors: invalidAgentResponse with the path of data that nests deeper than clients can read.
 */
export function sanitiseAgentOutput(message: Message): void {
  walk(registry.getMessage(message.$typeName)!, message as unknown as Fields, sanitising);
}
