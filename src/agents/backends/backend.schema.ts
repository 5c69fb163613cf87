import { z } from 'zod';
import { hasReference, REFERENCES } from './secret.reference.js';

const MIB = 1024 * 1024;
const CREDENTIAL = /auth|key|token|secret|cookie|password/i;

export const text = (error = 'give a text that is not empty') => z.string({ error }).min(1, { error });

export const whole = (min: number, max: number) => {
  const error = `give a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
};

const address = (example: string) => {
  const error = `give a URL such as ${example}`;
  const valid = (value: string) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
  return z.string({ error }).refine(valid, { error });
};

const secret = () => {
  const error = `give a reference such as ${REFERENCES}, never the value itself`;
  return z.string({ error }).refine(hasReference, { error });
};

/** Names to texts. What looks like a credential has to be a reference. */
const texts = (what: string) => {
  const error = `give ${what} as names and texts`;
  return z.record(z.string(), z.string({ error }), { error }).superRefine((values, context) => {
    for (const [name, value] of Object.entries(values)) {
      if (!CREDENTIAL.test(name) || hasReference(value)) continue;
      const message = `looks like a credential; give a reference such as ${REFERENCES}`;
      context.addIssue({ code: 'custom', path: [name], message });
    }
  });
};

const headers = texts('headers')
  .optional()
  .describe(`Headers of every request; credentials as ${REFERENCES}.`);
/** What belongs to one connection or one body, and what the service itself says. */
const NOT_FORWARDED =
  /^(connection|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*|host|expect|content-.*|accept|accept-encoding|traceparent|tracestate|parley-.*|a2a-.*|x-a2a-.*|idempotency-key|last-event-id|mcp-.*|.*-bin)$/;

const forwardHeaders = () => {
  const error = 'give names of headers such as x-request-id, in lower case';
  return z
    .array(
      z
        .string({ error })
        .regex(/^[a-z0-9!#$%&'*+.^_`|~-]+$/, { error })
        .refine((name) => !NOT_FORWARDED.test(name), { error: 'this header is never passed on' }),
      { error },
    )
    .optional()
    .describe(
      'Headers of the caller that every request passes on; "authorization" too where it is named. Stored encrypted until the turn ends.',
    );
};
const argv = z
  .array(text('give an argument'), { error: 'give a list: the program and its arguments' })
  .min(1, { error: 'give a list: the program and its arguments' });
const maxOutputBytes = whole(1024, 1024 * MIB)
  .default(16 * MIB)
  .describe('Most that one turn may answer, in bytes.');
const caller = secret()
  .optional()
  .describe('Signs the header Parley-Caller, a JWT (HS256) that says who calls, with this secret.');

const ModuleBackend = z.strictObject({
  kind: z.literal('module'),
  path: text('give the path of a JavaScript module').describe('A module, from the folder of this file.'),
  export: text().default('default').describe('What it exports: an executor, or a function that makes one.'),
  options: z.record(z.string(), z.json()).default({}).describe('Given to that function.'),
});

const HttpBackend = z.strictObject({
  kind: z.literal('http'),
  url: address('http://localhost:9000/').describe('Every turn is one POST to it.'),
  headers,
  forwardHeaders: forwardHeaders(),
  caller,
  earlierTasks: whole(0, 100).default(0).describe('Tasks of the same context that the agent is shown.'),
  maxOutputBytes,
});

const CommandBackend = z.strictObject({
  kind: z.literal('command'),
  command: argv.describe('The program and its arguments, never a shell line.'),
  cwd: text('give a folder').optional().describe('Its working directory, from the folder of this file.'),
  env: texts('variables').optional().describe('Its environment beside PATH, HOME and LANG.'),
  input: z
    .enum(['text', 'json'], { error: 'give text or json' })
    .default('text')
    .describe("What it reads: the message's text, or the whole turn as JSON."),
  output: z
    .enum(['text', 'events'], { error: 'give text or events' })
    .default('text')
    .describe('What it writes: text, or one JSON event a line.'),
  maxOutputBytes,
});

const OpenAiBackend = z.strictObject({
  kind: z.literal('openai'),
  baseUrl: address('https://api.openai.com/v1').default('https://api.openai.com/v1'),
  model: text('give the name of a model'),
  apiKey: secret().optional(),
  system: text().optional().describe('The system prompt.'),
  parameters: z
    .record(z.string(), z.json())
    .default({})
    .describe('More of the request, such as temperature.'),
  contextTokens: whole(16, 10_000_000)
    .default(16_000)
    .describe('Most of the conversation that the model is shown, in tokens of about four characters.'),
  toolCalls: z
    .enum(['refuse', 'show'], { error: 'give refuse or show' })
    .default('refuse')
    .describe('What a tool call does: fail the task, or show as its status.'),
  retries: whole(0, 10).default(2).describe('Tries after the first one, when the model is busy.'),
  headers,
  forwardHeaders: forwardHeaders(),
  caller,
  maxOutputBytes,
});

const A2ABackend = z.strictObject({
  kind: z.literal('a2a'),
  url: address('https://agents.example.com/agents/echo/').describe(
    "The other agent's server, or the address of its card; A2A 1.0 or 0.3.",
  ),
  binding: z
    .enum(['JSONRPC', 'HTTP+JSON', 'GRPC'], { error: 'give JSONRPC, HTTP+JSON or GRPC' })
    .optional()
    .describe('The binding to prefer; else the first one of the card.'),
  card: z
    .boolean({ error: 'give true or false' })
    .default(false)
    .describe(
      "Shows the skills, modes, provider and links of the other agent's card, as they are at the start.",
    ),
  headers,
  forwardHeaders: forwardHeaders(),
  caller,
});

const McpBackend = z
  .strictObject({
    kind: z.literal('mcp'),
    url: address('http://localhost:3000/mcp').optional().describe('A server of streamable HTTP ...'),
    command: argv.optional().describe('... or one that is started for the turn and speaks on stdio.'),
    env: texts('variables').optional(),
    headers,
    forwardHeaders: forwardHeaders(),
    caller,
    tool: text('give the name of a tool').describe('The tool that every message calls.'),
    textArgument: text().optional().describe('The argument that the text of a message is given as.'),
    arguments: z.record(z.string(), z.json()).default({}).describe('Arguments of every call.'),
  })
  .refine(({ url, command }) => (url === undefined) !== (command === undefined), {
    error: 'give either url or command',
  });

/** What stands behind an agent: one of six kinds. */
export const Backend = z.discriminatedUnion(
  'kind',
  [ModuleBackend, HttpBackend, CommandBackend, OpenAiBackend, A2ABackend, McpBackend],
  { error: 'give a backend with a kind: module, http, command, openai, a2a or mcp' },
);

export type Backend = z.output<typeof Backend>;
export type BackendOf<K extends Backend['kind']> = Extract<Backend, { kind: K }>;
