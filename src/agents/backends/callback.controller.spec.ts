import { expect, it } from 'vitest';
import { CallbackController } from './callback.controller.js';
import { PostgresCallbacks } from './postgres-callbacks.js';

it('An agent that posts what is no event is told what is wrong with it', async () => {
  const controller = new CallbackController(new PostgresCallbacks(undefined));
  const at = { taskId: 't', turn: '1', signature: 's' };
  const refused = (body: unknown) => expect(controller.take(at, body)).rejects;

  await refused([{ type: 'done' }, { type: 'stauts' }]).toMatchObject({
    kind: 'invalidParams',
    message: expect.stringMatching(/^That is no event.*: type: give one of status, artifact, /),
  });
  await refused({ type: 'artifact', parts: [{ text: 7 }] }).toMatchObject({
    kind: 'invalidParams',
    message: expect.stringMatching(/^That is no event.*: text: /),
  });
  await refused({ type: 'artifact', id: 'empty' }).toMatchObject({
    kind: 'invalidParams',
    message: expect.stringMatching(/^That is no event.*: artifact: give text, data or parts$/),
  });
});

it('A callback with a key that no index takes is told so', async () => {
  const controller = new CallbackController(new PostgresCallbacks(undefined));
  const taken = controller.take(
    { taskId: 't', turn: '1', signature: 's' },
    { type: 'done' },
    'k'.repeat(201),
  );

  await expect(taken).rejects.toMatchObject({
    kind: 'invalidParams',
    message: expect.stringMatching(/^Idempotency-Key: /),
  });
});
