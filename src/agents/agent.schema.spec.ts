import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { settingsJsonSchema } from '../config/index.js';
import { agentJsonSchema } from './agent.schema.js';

const README = readFileSync(new URL('README.md', import.meta.url), 'utf8');
const SNIPPETS = [...README.matchAll(/```yaml\n(.*?)```/gs)].map(([, yaml = '']) => yaml);

/** What an editor does with the schema and a file. */
const validator = (schema: object) => {
  const validate = new Ajv({ strict: false }).compile(schema);
  return (yaml: string) => (validate(parse(yaml)) ? [] : validate.errors!.map(({ message }) => message));
};

describe('The JSON Schema of an agent', () => {
  const problems = validator(agentJsonSchema());
  const agent = (more: string) =>
    `id: a\nname: A\ndescription: Is there\nbackend: { kind: command, command: [cat] }\n${more}`;

  it.each(SNIPPETS.map((yaml) => [/kind: (\w+)/.exec(yaml)?.[1], yaml]))(
    'accepts the %s agent of the README',
    (_, yaml) => {
      expect(problems(yaml!)).toEqual([]);
    },
  );

  it('accepts versions and what they share', () => {
    expect(problems(agent('rollout: current'))).toEqual([]);
    expect(problems(agent('rollout: { weight: 10, callers: { organisations: [acme] } }'))).toEqual([]);
  });

  it.each([
    ['a slip of the pen', agent('nmae: B')],
    ['another word', agent('rollout: sometimes')],
    ['a weight that is none', agent('rollout: { weight: 101 }')],
    ['a limit that is no number', agent('limits: { totalMs: soon }')],
    ['no back end', 'id: a\nname: A\ndescription: Is there\n'],
  ])('finds %s', (_, yaml) => {
    expect(problems(yaml)).not.toEqual([]);
  });
});

describe('The JSON Schema of the settings', () => {
  const problems = validator(settingsJsonSchema(agentJsonSchema()));

  it('accepts settings, agents described among them', () => {
    const yaml = `httpPort: 8081\nlogFormat: json\nagents:\n  - echo\n  - ${JSON.stringify(parse(SNIPPETS[0]!))}\n`;
    expect(problems(yaml)).toEqual([]);
  });

  it('finds settings that there are not, and agents that are wrong', () => {
    expect(problems('httpPorts: 8081\n')).not.toEqual([]);
    expect(problems('httpPort: many\n')).not.toEqual([]);
    expect(problems('agents:\n  - { id: a }\n')).not.toEqual([]);
  });
});
