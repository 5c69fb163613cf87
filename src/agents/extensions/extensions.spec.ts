import { create, toJson } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { eventsOf, fakeTurn, responseOf } from '../../../test/support/turn.js';
import { EXTENSION_URIS, MessageSchema, StreamResponseSchema } from '../../protocol/index.js';
import { inputRequired } from '../agent.events.js';
import { readEvent, readReply } from '../backends/plain.event.js';
import { DeployerExecutor } from '../samples/deployer.executor.js';
import { answerIn, EXTENSIONS, extended, questionIn } from './index.js';

const { approvals, progress, usage, effects, files } = EXTENSION_URIS;
const json = (event: Parameters<typeof responseOf>[0]) => toJson(StreamResponseSchema, responseOf(event));

describe.each(EXTENSIONS.map((extension) => [extension.name, extension] as const))(
  'The extension %s',
  (_name, { data, example, uri, description }) => {
    it('takes the example of its own page', () => {
      expect(data.parse(example)).toEqual(example);
    });

    it('says what it is', () => {
      expect(uri).toMatch(/^https:\/\/parley\.dev\/extensions\/[a-z]+\/v1$/);
      expect(description).not.toBe('');
    });
  },
);

describe('A question', () => {
  const question = { id: 'q', kind: 'choice', text: 'Which?', options: [{ id: 'a' }, { id: 'b' }] } as const;

  it('is asked as text and as data, in one message', () => {
    expect(json(inputRequired({ ...question, options: [...question.options] }))).toEqual({
      statusUpdate: {
        status: {
          state: 'TASK_STATE_INPUT_REQUIRED',
          message: {
            role: 'ROLE_AGENT',
            parts: [{ text: 'Which?' }],
            metadata: { [approvals]: { question } },
            extensions: [approvals],
          },
        },
      },
    });
  });

  it('is read from a message again, and so is the answer; what cannot be read is none', () => {
    const message = (data: object) =>
      create(MessageSchema, { metadata: { [approvals]: JSON.parse(JSON.stringify(data)) } });

    expect(questionIn(message({ question }))).toEqual(question);
    expect(questionIn(message({ question: { id: 'q' } }))).toBeUndefined();
    expect(answerIn(message({ answer: { question: 'q', choice: 'a' } }))).toEqual({
      question: 'q',
      choice: 'a',
    });
    expect(answerIn(create(MessageSchema, {}))).toBeUndefined();
  });
});

describe('An agent of any language', () => {
  const steps = [{ title: 'Look', state: 'active' }];

  it('tells of its plan, what it took and what it did on a status', () => {
    const effect = { action: 'mail', outcome: 'uncertain' };
    const event = readEvent({
      type: 'done',
      progress: steps,
      usage: { inputTokens: 3 },
      effects: [effect],
      metadata: { own: 1 },
    });

    expect(json(event)).toMatchObject({
      statusUpdate: {
        metadata: {
          own: 1,
          [progress]: { steps },
          [usage]: { inputTokens: 3 },
          [effects]: { effects: [effect] },
        },
      },
    });
  });

  it('says which file an artifact is a version of', () => {
    const file = { path: 'a.txt', version: 2 };
    expect(json(readEvent({ type: 'artifact', text: 'x', file }))).toMatchObject({
      artifactUpdate: { artifact: { metadata: { [files]: file }, extensions: [files] } },
    });
  });

  it('asks with a question, whose text is the text unless it gives another', () => {
    const question = { id: 'q', kind: 'approval', text: 'May I?' };
    const asked = (more: object) => json(readEvent({ type: 'auth', question, ...more }));

    expect(asked({})).toMatchObject({
      statusUpdate: { status: { message: { parts: [{ text: 'May I?' }], extensions: [approvals] } } },
    });
    expect(asked({ text: 'May I, please?' })).toMatchObject({
      statusUpdate: { status: { message: { parts: [{ text: 'May I, please?' }] } } },
    });
  });

  it('tells what a whole answer took on its end', () => {
    const [artifact, done] = readReply(JSON.stringify({ text: 'x', usage: { outputTokens: 1 } })).map(json);

    expect(JSON.stringify(artifact)).not.toContain(usage);
    expect(done).toMatchObject({ statusUpdate: { metadata: { [usage]: { outputTokens: 1 } } } });
  });

  const flaw = (cause: RegExp) =>
    expect.objectContaining({
      message: 'The agent gave an answer that cannot be read.',
      cause: expect.stringMatching(cause),
    });

  it.each([
    [{ type: 'status', progress: [{ title: 'x', state: 'maybe' }] }, /^progress\.0\.state: /],
    [{ type: 'done', usage: { inputTokens: -1, cost: 'x' } }, /^usage\.inputTokens: .*; usage\.cost: /],
    [{ type: 'done', effects: [{ action: 'x' }] }, /^effects\.0\.outcome: /],
    [{ type: 'ask', question: { id: 'q', text: 'no kind' } }, /^question\.kind: /],
    [{ type: 'artifact', text: 'x', file: { path: 'a', version: 0 } }, /^file\.version: /],
    [{ type: 'stauts' }, /^type: give one of status, artifact, /],
  ])('gives no valid answer with %j, and is told why in the log', (event, cause) => {
    expect(() => readEvent(event)).toThrow(flaw(cause));
    expect(() => readReply(JSON.stringify(event))).toThrow(flaw(cause));
  });

  it('gives no valid answer with nothing in it', () => {
    expect(() => readReply('{}')).toThrow(flaw(/^: give text, data or parts$/));
    expect(() => readReply('{"events":[]}')).toThrow(flaw(/^events: /));
    expect(() => readReply('7')).toThrow(flaw(/^: /));
  });
});

describe('The deployer', () => {
  it('asks for approval of exactly what it would do', async () => {
    const turn = fakeTurn({ text: 'deploy checkout 1.4.2 to staging' });
    const [asked] = await eventsOf(new DeployerExecutor('/dev/null'), turn);
    const { payload } = asked!;
    const message = payload.case === 'statusUpdate' ? payload.value.status?.message : undefined;

    expect(questionIn(message)).toMatchObject({
      kind: 'approval',
      action: { name: 'deploy', arguments: { release: 'checkout 1.4.2', environment: 'staging' } },
    });
  });

  it('tells what it did', async () => {
    const approval = { approved: true, by: 'ann' };
    const turn = fakeTurn({ text: 'deploy checkout 1.4.2 to staging', approval });
    const done = (await eventsOf(new DeployerExecutor('/dev/null'), turn)).at(-1)!;

    expect(toJson(StreamResponseSchema, done)).toMatchObject({
      statusUpdate: {
        metadata: { [effects]: { effects: [{ action: 'deploy', target: 'staging', outcome: 'done' }] } },
      },
    });
  });
});

describe('Metadata of extensions', () => {
  it('has nothing of what is not said', () => {
    expect(extended({})).toEqual({});
    expect(extended({ usage: { inputTokens: undefined, outputTokens: 2 } })).toEqual({
      [usage]: { outputTokens: 2 },
    });
  });
});
