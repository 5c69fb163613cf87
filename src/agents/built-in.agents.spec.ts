import { describe, expect, it } from 'vitest';
import { ConfigError, loadConfig } from '../config/index.js';
import { BuiltInAgents } from './built-in.agents.js';

describe('The built-in agents', () => {
  it('are all served by default, with echo at the root', () => {
    const agents = new BuiltInAgents(loadConfig({}));

    expect(agents.list().map(({ id }) => id)).toEqual([
      'echo',
      'test-runner',
      'code-reviewer',
      'deployer',
      'conformance',
    ]);
    expect(agents.default).toBe(agents.get('echo'));
  });

  it('are those that the configuration names, in its order', () => {
    const config = loadConfig({ PARLEY_AGENTS: 'deployer,echo', PARLEY_DEFAULT_AGENT: 'deployer' });
    const agents = new BuiltInAgents(config);

    expect(agents.list().map(({ id }) => id)).toEqual(['deployer', 'echo']);
    expect(agents.default.id).toBe('deployer');
    expect(agents.get('conformance')).toBeUndefined();
  });

  it('name every unknown id at once', () => {
    const config = loadConfig({ PARLEY_AGENTS: 'ecco,echo,deploier' });

    expect(() => new BuiltInAgents(config)).toThrow(ConfigError);
    expect(() => new BuiltInAgents(config)).toThrow(/"ecco".*"deploier"/s);
  });

  it('have at least one skill with an example, and media types for both ways', () => {
    for (const agent of new BuiltInAgents(loadConfig({})).list()) {
      expect(agent.skills.length, agent.id).toBeGreaterThan(0);
      for (const { examples, tags } of agent.skills)
        expect(examples?.length && tags?.length, agent.id).toBeTruthy();
      expect(agent.defaultInputModes, agent.id).not.toEqual([]);
      expect(agent.defaultOutputModes, agent.id).not.toEqual([]);
    }
  });
});
