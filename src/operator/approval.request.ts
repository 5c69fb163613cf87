import { z } from 'zod';
import type { Approval } from '../agents/index.js';
import { A2AError, parseJson } from '../protocol/index.js';

/** Text that Postgres can store: no U+0000, no lone surrogate. */
const text = (longest: number) =>
  z
    .string()
    .max(longest)
    .refine((value) => !value.includes('\0'), 'must not contain U+0000')
    .transform((value) => value.toWellFormed());

const ApprovalRequest = z.strictObject({
  approved: z.boolean().default(true),
  by: text(200).default('operator'),
  reason: text(2000).optional(),
});

/**
 * Reads the body of an approval; an empty one approves.
 * @throws A2AError `parseError`, or `invalidParams` with every wrong field
 */
export function readApproval(body: unknown): Approval {
  const result = ApprovalRequest.safeParse(readJson(body));
  if (result.success) return result.data;
  const violations = result.error.issues.map(({ path, message }) => ({
    field: path.join('.'),
    description: message,
  }));
  throw new A2AError('invalidParams', { violations });
}

function readJson(body: unknown): unknown {
  if (body instanceof Uint8Array) return body.length > 0 ? parseJson(body, { maxDepth: 8 }) : {};
  return body ?? {};
}
