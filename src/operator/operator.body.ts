import { z } from 'zod';
import { invalidFields, parseJson } from '../protocol/index.js';

const DEEPEST = 8;

/** Text that Postgres can store: no U+0000, no lone surrogate. */
export const text = (longest: number) =>
  z
    .string()
    .max(longest)
    .refine((value) => !value.includes('\0'), 'must not contain U+0000')
    .transform((value) => value.toWellFormed());

/**
 * A request to the operators' API; no body is an empty object.
 * @throws A2AError `parseError`, or `invalidParams` with every wrong field
 */
export function readBody<T extends z.ZodType>(schema: T, body: unknown): z.output<T> {
  const result = schema.safeParse(jsonOf(body));
  if (result.success) return result.data;
  const violations = result.error.issues.flatMap((issue) => {
    const paths =
      issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
    return paths.map((path) => ({ field: path.join('.'), description: issue.message }));
  });
  throw invalidFields(violations);
}

function jsonOf(body: unknown): unknown {
  if (body instanceof Uint8Array) return body.length > 0 ? parseJson(body, { maxDepth: DEEPEST }) : {};
  return body ?? {};
}
