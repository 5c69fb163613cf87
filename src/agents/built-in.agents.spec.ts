import { describe, expect, it } from 'vitest';
import { ConfigError, loadConfig } from '../config/index.js';
import { BackEnds } from './backends/back.ends.js';
import { PostgresCallbacks } from './backends/postgres-callbacks.js';
import { LiveAgents } from './live.agents.js';

const load = (env: Record<string, string>) =>
  LiveAgents.load(loadConfig(env), new BackEnds(new PostgresCallbacks(undefined)));

describe('The built-in agents', () => {
  it('are all served by default, with echo at the root', async () => {
    const agents = await load({});

    expect(agents.list().map(({ id }) => id)).toEqual([
      'echo',
      'test-runner',
      'code-reviewer',
      'deployer',
      'conformance',
    ]);
    expect(agents.default).toBe(agents.get('echo'));
  });

  it('are those that the configuration names, in its order', async () => {
    const agents = await load({ PARLEY_AGENTS: 'deployer,echo', PARLEY_DEFAULT_AGENT: 'deployer' });

    expect(agents.list().map(({ id }) => id)).toEqual(['deployer', 'echo']);
    expect(agents.default.id).toBe('deployer');
    expect(agents.get('conformance')).toBeUndefined();
  });

  it('have the first one at the root where echo is not among them', async () => {
    expect((await load({ PARLEY_AGENTS: 'deployer,conformance' })).default.id).toBe('deployer');
  });

  it('name every unknown id at once', async () => {
    const unknown = load({ PARLEY_AGENTS: 'ecco,echo,deploier' });

    await expect(unknown).rejects.toThrow(ConfigError);
    await expect(unknown).rejects.toThrow(/"ecco".*"deploier"/s);
  });

  it('have at least one skill with an example, and media types for both ways', async () => {
    for (const agent of (await load({})).list()) {
      expect(agent.skills.length, agent.id).toBeGreaterThan(0);
      for (const { examples, tags } of agent.skills)
        expect(examples?.length && tags?.length, agent.id).toBeTruthy();
      expect(agent.defaultInputModes, agent.id).not.toEqual([]);
      expect(agent.defaultOutputModes, agent.id).not.toEqual([]);
    }
  });
});
