import { z } from 'zod';
import { EXTENSION_URIS } from '../../protocol/index.js';
import { type Extension, shortText } from './extension.js';

export const FileVersion = z.object({
  path: shortText(4_096).describe('Names the file within the context; the same for all its versions.'),
  version: z.int().min(1).describe('Grows with each version.'),
  change: z.enum(['created', 'changed', 'deleted']).optional(),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional()
    .describe('Of the content.'),
  size: z.int().min(0).optional().describe('Of the content, bytes.'),
});
export type FileVersion = z.output<typeof FileVersion>;

export const files: Extension = {
  uri: EXTENSION_URIS.files,
  name: 'files/v1',
  description: 'Which file an artifact is a version of',
  data: FileVersion,
  page: `
An artifact that is a version of a file says so, so that a client can show what is new and put older ones away. Artifacts
of different tasks of a context may be versions of one file.

- It stands in the metadata of the **artifact**.
- A file that is gone has an artifact with \`change: deleted\`, whose parts say so as text.
`,
  example: { path: 'src/cart.js', version: 3, change: 'changed', size: 1204 },
};
