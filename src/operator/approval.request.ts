import { z } from 'zod';

/** Text that Postgres can store: no U+0000, no lone surrogate. */
const text = (longest: number) =>
  z
    .string()
    .max(longest)
    .refine((value) => !value.includes('\0'), 'must not contain U+0000')
    .transform((value) => value.toWellFormed());

/** The body of an approval. An empty one approves. */
export const ApprovalRequest = z.strictObject({
  approved: z.boolean().default(true),
  by: text(200).default('operator'),
  reason: text(2000).optional(),
});
