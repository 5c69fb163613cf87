import { readFileSync } from 'node:fs';
import type { JsonObject } from '@bufbuild/protobuf';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { describe, expect, it } from 'vitest';
import { ERRORS, type ErrorKind } from '../errors.js';
import { HTTP_ROUTES } from '../http.routes.js';
import { REST_ROUTES } from '../v03/index.js';
import { openApiDocument } from './openapi.document.js';
import { protoComments } from './proto.comments.js';

const proto = (name: string) =>
  protoComments(readFileSync(new URL(`../../../proto/${name}`, import.meta.url), 'utf8'));

const make = (v03: boolean, securitySchemes: Record<string, JsonObject> = {}) =>
  openApiDocument({
    ...{ release: '1.2.3', agents: ['echo', 'other'], url: 'https://agents.example', v03, securitySchemes },
    comments: proto('a2a.proto'),
    v03Comments: proto('a2a_v03.proto'),
  }) as {
    paths: Record<string, Record<string, JsonObject>>;
    components: {
      schemas: Record<string, JsonObject>;
      responses: Record<string, { description: string }>;
    };
  };

const routesOf = ({ paths }: ReturnType<typeof make>) =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((method) => method !== 'servers')
      .map((method) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, '*')}`),
  );

const SCHEME = { key: { type: 'apiKey', in: 'header', name: 'X-API-Key' } };

describe('The OpenAPI document', () => {
  it.each([
    ['1.0 alone', false],
    ['1.0 and 0.3', true],
  ])('of %s is valid, and the recommended rules find nothing in it', async (_, v03) => {
    const source = JSON.stringify(make(v03, SCHEME));
    const config = await createConfig({ extends: ['recommended'] });
    const problems = await lintFromString({ source, config });
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual(
      [],
    );
  });

  it('has every route of the proto once, those with a tenant below a server of their own', () => {
    const expected = HTTP_ROUTES.map(
      ({ method, template }) => `${method} ${template.replace('/{tenant}', '').replace(/\{[^}]+\}/g, '*')}`,
    );
    const found = routesOf(make(false)).filter((route) => route !== 'GET /changes');
    expect(found.sort()).toEqual([...new Set(expected)].sort());
    expect(expected.length).toBe(2 * new Set(expected).size);
  });

  it('has every route of 0.3 where an agent is served in it', () => {
    const expected = REST_ROUTES.map(
      ({ method, template }) => `${method} ${template.replace(/\{\w+=([^}]+)\}/, '$1')}`,
    );
    const found = routesOf(make(true)).filter((route) => route.includes(' /v1/'));
    expect(found.sort()).toEqual([...expected, 'GET /v1/tasks'].sort());
  });

  it('has the change feed, above the routes of the binding', () => {
    const { servers, get } = make(false).paths['/changes'] as unknown as {
      servers: { url: string }[];
      get: { parameters: { name?: string }[] };
    };
    expect(servers.map(({ url }) => url)).toEqual([
      'https://agents.example',
      'https://agents.example/agents/{agent}',
    ]);
    expect(get.parameters.map(({ name }) => name).filter(Boolean)).toEqual([
      ...['after', 'wait', 'pageSize', 'historyLength', 'includeArtifacts'],
    ]);
  });

  it('says of each error of an operation by which status it comes', () => {
    const { responses } = make(false).components;
    const elsewhere = ['invalidRequest', 'methodNotFound', 'methodNotAllowed'];
    for (const kind of Object.keys(ERRORS) as ErrorKind[]) {
      const { http, reason } = ERRORS[kind];
      const isSaid = responses[`Error${http}`]?.description.includes(`\`${reason}\``) ?? false;
      expect([kind, isSaid]).toEqual([kind, !elsewhere.includes(kind)]);
    }
  });

  it('has the REQUIRED fields, the one-of and the words of the proto', () => {
    const { Part, Task, TaskState } = make(false).components.schemas;
    expect(Part!.oneOf).toEqual([
      { required: ['text'] },
      { required: ['raw'] },
      { required: ['url'] },
      { required: ['data'] },
    ]);
    expect(Task).toMatchObject({
      required: ['id', 'status'],
      description: expect.stringMatching(/^The unit of work/),
    });
    expect(TaskState!.enum).toContain('TASK_STATE_INPUT_REQUIRED');
  });
});
