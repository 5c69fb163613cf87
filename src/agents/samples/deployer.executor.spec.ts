import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toJson } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventsOf, type FakeTurnOptions, fakeTurn, told } from '../../../test/support/turn.js';
import { Role, StreamResponseSchema } from '../../protocol/index.js';
import { textPart } from '../agent.events.js';
import { deployer } from './deployer.executor.js';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-deployer-'));
  file = join(folder, 'made/on/demand.log');
});
afterEach(() => rm(folder, { recursive: true }));

const events = (options: FakeTurnOptions) => eventsOf(deployer(file).executor, fakeTurn(options));
const play = async (options: FakeTurnOptions) => (await events(options)).map(told);
const deployments = () => readFile(file, 'utf8').catch(() => '');

const approval = { approved: true, by: 'ann' };
const WAITING = 'AUTH_REQUIRED An operator has to approve the deploy of checkout 1.4.2 to staging';

describe('The deployer', () => {
  it('stops before a deploy to staging until an operator approves', async () => {
    expect(await play({ text: 'Please deploy checkout 1.4.2 to staging' })).toEqual([WAITING]);
    expect(await deployments()).toBe('');
  });

  it('writes one line for an approved deploy and returns the same record', async () => {
    const told = await events({ text: 'deploy checkout 1.4.2 to Staging', approval });

    const record = JSON.parse(await deployments());
    expect(record).toMatchObject({
      taskId: 'task-1',
      release: 'checkout 1.4.2',
      environment: 'staging',
      approvedBy: 'ann',
    });
    expect(new Date(record.at).getTime()).toBeLessThanOrEqual(Date.now());
    expect(told.map((event) => toJson(StreamResponseSchema, event))).toMatchObject([
      { statusUpdate: { status: { state: 'TASK_STATE_WORKING' } } },
      { artifactUpdate: { artifact: { artifactId: 'deployment', parts: [{ data: record }] } } },
      { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } },
    ]);
  });

  it('appends: a second deploy is a second line', async () => {
    await events({ text: 'deploy a to staging', approval });
    await events({ text: 'deploy b to staging', approval });

    const lines = (await deployments()).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).release)).toEqual(['a', 'b']);
  });

  it('deploys nothing when the operator refuses', async () => {
    const refusal = { approved: false, by: 'ann', reason: 'Freeze until Monday' };
    expect(await play({ text: 'deploy a to staging', approval: refusal })).toEqual([
      'REJECTED Freeze until Monday',
    ]);
    expect(await deployments()).toBe('');
  });

  it.each([
    ['deploy checkout to production', 'REJECTED Deploys to production are not made through this agent'],
    ['deploy checkout to mars', 'REJECTED There is no environment mars. There are: staging, production'],
    ['hello', 'INPUT_REQUIRED Say what goes where, for example: deploy checkout 1.4.2 to staging'],
  ])('answers "%s" at once', async (text, event) => {
    expect(await play({ text })).toEqual([event]);
  });

  it('never deploys to production, approved or not', async () => {
    await events({ text: 'deploy checkout to production', approval });
    expect(await deployments()).toBe('');
  });

  it('does not take its own hint for an order', async () => {
    const hint = { role: Role.AGENT, parts: [textPart('for example: deploy checkout 1.4.2 to staging')] };
    const before = ['hello', hint];

    expect(await play({ before, text: 'what do you mean?' })).toEqual([
      expect.stringMatching(/^INPUT_REQUIRED/),
    ]);
  });

  it('lets no later message change what the operator approves', async () => {
    const before = [{ parts: [textPart('deploy checkout 1.4.2 to staging')] }];
    expect(await play({ before, text: 'deploy evil to staging' })).toEqual([WAITING]);

    await events({ before, text: 'deploy evil to staging', approval });
    expect(JSON.parse(await deployments()).release).toBe('checkout 1.4.2');
  });

  it('deploys nothing once the turn is cancelled', async () => {
    await events({ text: 'deploy a to staging', approval, signal: AbortSignal.abort() });
    expect(await deployments()).toBe('');
  });
});
