import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type ModelStand, modelStand } from '../../../test/support/backends/model.stand.js';
import { eventsOf, fakeTurn, told } from '../../../test/support/turn.js';
import { Role } from '../../protocol/index.js';
import { Backend, type BackendOf } from './backend.schema.js';
import { OpenAiExecutor } from './openai.executor.js';

let stand: ModelStand;
beforeAll(async () => {
  stand = await modelStand();
});
afterAll(() => stand.close());

const model = (more: object = {}) =>
  new OpenAiExecutor(Backend.parse({ ...stand.backend, ...more }) as BackendOf<'openai'>);
const asked = () => stand.chats.at(-1)!;

describe('A chat model', () => {
  it('is shown the system prompt, the conversation and the parameters', async () => {
    const said = { role: Role.AGENT, parts: [{ content: { case: 'text' as const, value: 'good day' } }] };
    const executor = model({ system: 'Be brief.', parameters: { temperature: 0 } });
    await eventsOf(executor, fakeTurn({ text: 'hello', before: ['hi', said] }));

    expect(asked()).toMatchObject({
      model: 'small',
      temperature: 0,
      stream: true,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'good day' },
        { role: 'user', content: 'hello' },
      ],
    });
  });

  it('is shown no more than its budget, the newest first, the message itself always', async () => {
    await eventsOf(
      model({ contextTokens: 20 }),
      fakeTurn({ text: 'x'.repeat(60), before: ['old '.repeat(20), 'new'] }),
    );
    expect(asked().messages.map(({ content }) => content.slice(0, 3))).toEqual(['new', 'xxx']);

    await eventsOf(model({ contextTokens: 20 }), fakeTurn({ text: 'y'.repeat(600), before: ['new'] }));
    expect(asked().messages).toHaveLength(1);
  });

  it('sees images', async () => {
    const image = { content: { case: 'raw' as const, value: Buffer.from('png') }, mediaType: 'image/png' };
    await eventsOf(model(), fakeTurn({ message: { parts: [image] } })).catch(() => {});
    expect(asked().messages.at(-1)?.content).toEqual([
      { type: 'image_url', image_url: { url: 'data:image/png;base64,cG5n' } },
    ]);
  });

  it('says what it used', async () => {
    const last = (await eventsOf(model(), fakeTurn({ text: 'hello' }))).at(-1)!.payload;
    expect(last).toMatchObject({
      case: 'statusUpdate',
      value: {
        metadata: {
          'https://parley.dev/extensions/usage/v1': { model: 'small', inputTokens: 12, outputTokens: 3 },
        },
      },
    });
  });

  it('is asked again when it is busy, as often as the operator wants', async () => {
    stand.busy = 2;
    expect((await eventsOf(model(), fakeTurn({ text: 'hello' }))).map(told)).toEqual([
      'WORKING',
      'artifact hello to you',
      'COMPLETED',
    ]);

    stand.busy = 2;
    await expect(eventsOf(model({ retries: 1 }), fakeTurn({ text: 'hello' }))).rejects.toThrow(
      'The agent is busy; try again later.',
    );
    await vi.waitFor(() => expect(stand.busy).toBe(0), { timeout: 20_000 });
  });
});
