import { describe, expect, it } from 'vitest';
import { TaskState } from '../protocol/index.js';
import { PageTokens } from './page.token.js';

const tokens = new PageTokens('secret');
const query = { scope: { organisation: 'acme', owner: 'alice', agent: 'echo' }, contextId: 'c' };
const position = { statusAt: 1_764_500_000_123, id: '01a22e45-0600-7479-9abe-017ae7b81d21' };

const refused = (token: string, other: Parameters<PageTokens['open']>[1] = query, by = tokens) =>
  expect(() => by.open(token, other)).toThrow(/pageToken/);

describe('a page token', () => {
  it('opens to the position it was sealed with', () => {
    expect(tokens.open(tokens.seal(position, query), query)).toEqual(position);
  });

  it('is refused for another caller, agent, filter or deployment (S002-105, B52)', () => {
    const token = tokens.seal(position, query);
    refused(token, { ...query, scope: { ...query.scope, owner: 'bob' } });
    refused(token, { ...query, scope: { ...query.scope, agent: 'other' } });
    refused(token, { ...query, contextId: undefined });
    refused(token, { ...query, state: TaskState.WORKING });
    refused(token, { ...query, statusAfter: 0 });
    refused(token, query, new PageTokens('other secret'));
  });

  it('is refused when any character was changed (B69)', () => {
    const token = tokens.seal(position, query);
    for (let i = 0; i < token.length; i++) {
      refused(`${token.slice(0, i)}${token[i] === 'A' ? 'B' : 'A'}${token.slice(i + 1)}`);
    }
    for (const bad of ['', 'garbage', '!', token.slice(1), `${token}AAAA`]) refused(bad);
  });
});
