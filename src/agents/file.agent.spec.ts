import { describe, expect, it } from 'vitest';
import { fakeAgent } from '../../test/support/fake.agents.js';
import { AgentFile } from './agent.schema.js';
import { fileAgent } from './file.agent.js';

const skill = (id: string, more: object = {}) => ({ id, name: id, description: id, tags: ['x'], ...more });

function agentWith(more: object) {
  const backend = { kind: 'command', command: ['true'] };
  const file = { id: 'books', name: 'Books', description: 'Keeps books', version: '1', backend, ...more };
  return fileAgent(AgentFile.parse(file), fakeAgent().executor);
}

describe('An agent in a file', () => {
  it('shows skills with a scope on its extended card alone', () => {
    const { skills, extendedSkills } = agentWith({
      skills: [skill('read'), skill('audit', { scope: 'books.audit' })],
    });

    expect(skills).toEqual([skill('read')]);
    expect(extendedSkills).toEqual([{ skill: skill('audit'), scope: 'books.audit' }]);
  });

  it('has no extended card without such skills', () => {
    expect(agentWith({ skills: [skill('read')] }).extendedSkills).toBeUndefined();
    expect(agentWith({}).skills).toHaveLength(1);
    expect(agentWith({}).extendedSkills).toBeUndefined();
  });
});
