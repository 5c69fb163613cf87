import { z } from 'zod';
import { Backend, text, whole } from './backends/backend.schema.js';
import { EXTENSIONS } from './extensions/index.js';

const DAY_MS = 86_400_000;

const id = () => {
  const error = 'give an id: a-z, 0-9 and "-", at most 63 characters';
  return z.string({ error }).regex(/^[a-z0-9][a-z0-9-]{0,62}$/, { error });
};

const mediaTypes = (example: string) => {
  const error = `give media types such as ${example}`;
  return z.array(z.string({ error }).regex(/^[\w.+*-]+\/[\w.+*-]+$/, { error }), { error }).min(1, { error });
};

const textList = (error: string) => z.array(text(error), { error });

const someTexts = (error: string) => textList(error).min(1, { error });

const Skill = z.strictObject({
  id: text(),
  name: text(),
  description: text(),
  tags: someTexts('give a list of words'),
  examples: textList('give a list of texts').optional(),
  inputModes: mediaTypes('text/plain').optional(),
  outputModes: mediaTypes('text/plain').optional(),
  scope: text('give a scope')
    .optional()
    .describe('Shows the skill on the extended card alone, to callers who hold this scope.'),
});

const Access = z
  .strictObject({
    private: z.boolean({ error: 'give true or false' }).optional(),
    organisations: someTexts('give a list of organisations').optional(),
    scopes: someTexts('give a list of scopes').optional(),
  })
  .describe('Who may use the agent; left out, every caller.');

const Limits = z
  .strictObject({
    concurrency: whole(1, 100_000).optional().describe('Turns that one replica runs at once.'),
    inactivityMs: whole(1, 7 * DAY_MS)
      .optional()
      .describe('Silence after which a turn fails.'),
    totalMs: whole(1, 30 * DAY_MS)
      .optional()
      .describe('Time after which a turn fails, however busy it is.'),
    blockingMs: whole(1, DAY_MS)
      .optional()
      .describe('A blocking send returns the running task after this long.'),
    cancelGraceMs: whole(0, 600_000).optional().describe('Time for the agent to end when it is cancelled.'),
    taskMib: whole(1, 256)
      .optional()
      .describe('Mebibytes that a task may come to, all of its messages and artifacts together.'),
  })
  .describe('Times in milliseconds.');

const version = () => {
  const error = 'give a version such as 1.2.0: letters, digits, ".", "_" and "-", at most 63 characters';
  return z.string({ error }).regex(/^[A-Za-z0-9][\w.-]{0,62}$/, { error });
};

const Callers = z
  .strictObject({
    organisations: someTexts('give a list of organisations').optional(),
    subjects: someTexts('give a list of subjects').optional(),
    scopes: someTexts('give a list of scopes').optional(),
  })
  .refine((lists) => Object.values(lists).some((list) => list !== undefined), {
    error: 'give organisations, subjects or scopes',
  })
  .describe('Callers who are found in each of these lists.');

const Rollout = z
  .union(
    [
      z.enum(['current', 'draining']),
      z.strictObject({
        weight: whole(0, 100)
          .optional()
          .describe('Of a hundred new contexts, so many begin on this version.'),
        callers: Callers.optional().describe('New contexts of these callers begin on this version.'),
      }),
    ],
    { error: 'give current, draining, or weight and callers' },
  )
  .describe(
    'Where one id is served in several versions: the current one answers at the plain address, a draining one only finishes what was begun on it.',
  );

const OWN_EXTENSIONS = EXTENSIONS.map(({ name }) => name);

const AgentExtension = z.union(
  [
    z.enum(OWN_EXTENSIONS),
    z.strictObject({
      uri: text('give a URI'),
      description: text().optional(),
      required: z.boolean().optional(),
    }),
  ],
  { error: `give one of ${OWN_EXTENSIONS.join(', ')}, or uri with description and required` },
);

/** An agent as an operator writes it. The JSON Schema for editors is made from this. */
export const AgentFile = z
  .strictObject({
    id: id().describe('Names the agent in addresses.'),
    name: text('give a name'),
    description: text('give a sentence that says what the agent does'),
    version: version()
      .default('1.0.0')
      .describe("The agent's own release; several of one id can be served side by side."),
    rollout: Rollout.optional(),
    provider: z.strictObject({ organization: text('give a name'), url: text('give a URL') }).optional(),
    documentationUrl: text('give a URL').optional(),
    iconUrl: text('give a URL').optional(),
    skills: z
      .array(Skill, { error: 'give a list of skills' })
      .min(1, { error: 'give at least one skill, or leave it out' })
      .optional()
      .describe('Left out: one skill, named as the agent.'),
    inputModes: mediaTypes('text/plain').default(['text/plain']),
    outputModes: mediaTypes('text/plain').default(['text/plain', 'application/json']),
    extensions: z
      .array(AgentExtension, { error: 'give a list of extensions' })
      .optional()
      .describe('What the card declares: extensions of Parley by name, others by URI.'),
    access: Access.optional(),
    streaming: z.boolean({ error: 'give true or false' }).default(true),
    v03: z.boolean({ error: 'give true or false' }).default(true).describe('Serves A2A 0.3 beside 1.0.'),
    directReplies: z
      .boolean({ error: 'give true or false' })
      .default(false)
      .describe('The agent may answer with a Message, without a task.'),
    idempotentSend: z
      .boolean({ error: 'give true or false' })
      .default(true)
      .describe('The same message sent twice gives the same task.'),
    crashRetries: whole(0, 100)
      .optional()
      .describe(
        'How often a turn whose replica died is run again from the start; one whose replica goes down in order is run again in any case. Work that can be found again is not begun twice.',
      ),
    limits: Limits.default({}),
    backend: Backend,
  })
  .describe('An agent that Parley serves.');

export type AgentFile = z.output<typeof AgentFile>;

/** The JSON Schema of a file in `PARLEY_AGENTS_DIR`, and of each agent in the list `agents` of the YAML file. */
export function agentJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(AgentFile, { io: 'input', target: 'draft-7' });
  return { title: 'Parley agent', ...schema };
}
