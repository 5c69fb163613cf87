import { z } from 'zod';
import { EXTENSION_URIS } from '../../protocol/index.js';
import { type Extension, shortText } from './extension.js';

const amount = (text: string) => z.number().min(0).optional().describe(text);

export const Usage = z.object({
  model: shortText(200).optional(),
  inputTokens: amount('What the model read.'),
  outputTokens: amount('What it wrote.'),
  cost: z
    .object({ amount: z.number().min(0), currency: z.string().regex(/^[A-Z]{3}$/) })
    .optional()
    .describe('What it costs; the currency by ISO 4217.'),
  durationMs: amount('Time that the agent worked, milliseconds.'),
  traceId: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .optional()
    .describe('Trace that the work is in (W3C Trace Context).'),
});
export type Usage = z.output<typeof Usage>;

export const usage: Extension = {
  uri: EXTENSION_URIS.usage,
  name: 'usage/v1',
  description: 'What the work took: tokens, cost, time, and the trace to find it by',
  data: Usage,
  page: `
What a turn of the agent took, so that a client can add up, bill or find it in its traces. A field that is not known is
left out.

- It stands in the metadata of the **status update** that ends a turn: that of the turn alone, not of the whole task.
- The metadata of the **task** has that of the last turn.
`,
  example: {
    model: 'small',
    inputTokens: 812,
    outputTokens: 164,
    cost: { amount: 0.0021, currency: 'EUR' },
    durationMs: 1430,
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  },
};
