import { z } from 'zod';
import { EXTENSION_URIS } from '../../protocol/index.js';
import { type Extension, shortText } from './extension.js';

export const Effects = z.object({
  effects: z
    .array(
      z.object({
        id: shortText(200).optional().describe('Stays the same from one update to the next.'),
        action: shortText().describe('What was done, such as `deploy` or `email.send`.'),
        target: shortText().optional().describe('To what.'),
        outcome: z
          .enum(['done', 'failed', 'uncertain'])
          .describe('`uncertain`: it was tried, and nobody knows whether it happened.'),
        at: z.iso.datetime({ offset: true }).optional(),
        detail: z.json().optional(),
      }),
    )
    .max(1_000)
    .describe('All effects of the task so far, oldest first.'),
});
export type Effects = z.output<typeof Effects>;

export const effects: Extension = {
  uri: EXTENSION_URIS.effects,
  name: 'effects/v1',
  description: 'What the agent did outside, and whether it happened',
  data: Effects,
  page: `
What has changed in the world because of the task: mails that were sent, releases that were deployed. A client shows it,
keeps it, or looks after what is uncertain before it lets the task be run again.

- It stands in the metadata of **status updates**. Each has the whole list so far.
- The metadata of the **task** has the newest one.
- \`uncertain\` is what an agent says that broke off between the deed and the answer to it.
`,
  example: {
    effects: [
      { action: 'deploy', target: 'staging', outcome: 'done', at: '2026-11-30T12:00:00.000Z' },
      { action: 'email.send', target: 'release@example.com', outcome: 'uncertain' },
    ],
  },
};
