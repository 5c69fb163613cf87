import { z } from 'zod';
import { EXTENSION_URIS } from '../../protocol/index.js';
import { type Extension, shortText } from './extension.js';

export const Progress = z.object({
  steps: z
    .array(
      z.object({
        id: shortText(200).optional().describe('Stays the same from one update to the next.'),
        title: shortText(),
        state: z.enum(['pending', 'active', 'done', 'failed', 'skipped']),
      }),
    )
    .max(200)
    .describe('The whole plan as it is now, in its order.'),
});
export type Progress = z.output<typeof Progress>;

export const progress: Extension = {
  uri: EXTENSION_URIS.progress,
  name: 'progress/v1',
  description: 'The steps of the agent’s plan and how far each of them is',
  data: Progress,
  page: `
What the agent means to do and how far it is, for a client that shows a list of steps.

- It stands in the metadata of **status updates**. Each has the whole plan, so that the newest one is all that counts:
  steps may come, go and change their order.
- The metadata of the **task** has the newest one.
`,
  example: {
    steps: [
      { id: 'build', title: 'Build the release', state: 'done' },
      { id: 'test', title: 'Run its tests', state: 'active' },
      { id: 'ship', title: 'Ship it', state: 'pending' },
    ],
  },
};
