import { z } from 'zod';
import { EXTENSION_URIS, type Message } from '../../protocol/index.js';
import { type Extension, shortText } from './extension.js';

const ID = shortText(200);

export const Question = z.object({
  id: ID.describe('Names the question within its task.'),
  kind: z
    .enum(['approval', 'choice', 'text'])
    .describe('`approval`: yes or no; `choice`: one of `options`; `text`: anything.'),
  text: shortText(10_000).describe('The question as people read it.'),
  options: z
    .array(z.object({ id: ID, label: shortText().optional() }))
    .min(1)
    .max(100)
    .optional()
    .describe('What may be chosen.'),
  action: z
    .object({ name: shortText(), arguments: z.json().optional() })
    .optional()
    .describe('What the agent does once it is approved.'),
});
export type Question = z.output<typeof Question>;

export const Answer = z.object({
  question: ID.optional().describe('Of the question.'),
  approved: z.boolean().optional().describe('To an approval.'),
  choice: ID.optional().describe('To a choice: the id of the option.'),
  text: z.string().max(100_000).optional().describe('To a text.'),
  by: z.string().max(1_000).optional().describe('Who answered, where it was an operator.'),
  reason: z.string().max(10_000).optional().describe('Why.'),
});
export type Answer = z.output<typeof Answer>;

const Data = z.union([z.object({ question: Question }), z.object({ answer: Answer })]);

/** The structured answer that a message brings; undefined where it brings none, or none that can be read. */
export function answerIn({ metadata }: Message): Answer | undefined {
  const { data } = z.object({ answer: Answer }).safeParse(metadata?.[EXTENSION_URIS.approvals]);
  return data?.answer;
}

/** The structured question that a status message asks. */
export function questionIn(message: Message | undefined): Question | undefined {
  const { data } = z.object({ question: Question }).safeParse(message?.metadata?.[EXTENSION_URIS.approvals]);
  return data?.question;
}

export const approvals: Extension = {
  uri: EXTENSION_URIS.approvals,
  name: 'approvals/v1',
  description: 'Questions and requests for approval, and the answers to them, as structured data',
  data: Data,
  page: `
A task that waits says for what: beside the text for people, its status message has the question as data, for a
client that shows a form, buttons or a ticket.

- \`question\` stands in the metadata of the **status message** of INPUT_REQUIRED and AUTH_REQUIRED. It counts as long as
  the task is in that state.
- \`answer\` to INPUT_REQUIRED stands in the metadata of the caller's next **message** to the task. Its parts may say the
  same as text; an agent reads one or the other.
- AUTH_REQUIRED is not the caller's to answer: an operator approves or refuses outside of the protocol. The \`answer\`
  then stands in the metadata of the **status update** that ends the waiting, with \`by\` and \`reason\`. The last one
  stays in the metadata of the task.
`,
  example: {
    question: {
      id: 'deploy',
      kind: 'approval',
      text: 'An operator has to approve the deploy of checkout 1.4.2 to staging',
      action: { name: 'deploy', arguments: { release: 'checkout 1.4.2', environment: 'staging' } },
    },
  },
};
