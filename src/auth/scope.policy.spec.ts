import { describe, expect, it } from 'vitest';
import { FakeAudit } from '../../test/support/fake.audit.js';
import { loadConfig } from '../config/index.js';
import { A2AError, OPERATION_NAMES, type OperationName, type Principal } from '../protocol/index.js';
import { ANONYMOUS } from './anonymous.authenticator.js';
import type { GuardedAgent } from './policy.js';
import { A2A_SCOPES, SCOPE_OF } from './scope.js';
import { noSuchAgent, ScopePolicy } from './scope.policy.js';

const audit = new FakeAudit();
const ECHO: GuardedAgent = { id: 'echo' };
const policy = new ScopePolicy(loadConfig({}), audit);

function refusal(operation: string, principal: Principal): A2AError {
  try {
    policy.authorise(operation as OperationName, principal, ECHO);
  } catch (error) {
    if (error instanceof A2AError) return error;
    throw error;
  }
  throw new Error(`${operation} was allowed`);
}

describe('The scope policy', () => {
  it.each(OPERATION_NAMES)('allows %s to the holder of its scope alone', (operation) => {
    const only = { ...ANONYMOUS, scopes: new Set([SCOPE_OF[operation]]) };
    const allOthers = {
      ...ANONYMOUS,
      scopes: new Set([...A2A_SCOPES].filter((s) => s !== SCOPE_OF[operation])),
    };

    expect(() => policy.authorise(operation, only, ECHO)).not.toThrow();
    expect(refusal(operation, allOthers)).toMatchObject({
      kind: 'permissionDenied',
      metadata: { scope: SCOPE_OF[operation] },
    });
  });

  it('refuses an operation that has no scope, whatever the caller holds (S003-09)', () => {
    const caller = { ...ANONYMOUS, scopes: new Set([...A2A_SCOPES, 'none', 'undefined']) };

    expect(refusal('dropEverything', caller).kind).toBe('permissionDenied');
    expect(refusal('toString', caller).kind).toBe('permissionDenied');
  });

  it('allows a credential on the agents that it is good for alone', () => {
    const caller = { ...ANONYMOUS, agents: new Set(['echo']) };

    policy.authorise('getTask', caller, ECHO);
    expect(() => policy.authorise('getTask', caller, { id: 'deployer' })).toThrow('not good for this agent');
  });

  it('names a missing scope as the tokens of this deployment call it', () => {
    const renamed = new ScopePolicy(loadConfig({ PARLEY_SCOPE_NAMES: 'a2a.send=agent:spawn' }), audit);
    const caller = { ...ANONYMOUS, scopes: new Set<string>() };

    expect(() => renamed.authorise('sendMessage', caller, ECHO)).toThrow(
      expect.objectContaining({
        metadata: { scope: 'agent:spawn' },
        challenge: 'Bearer realm="parley", error="insufficient_scope", scope="agent:spawn"',
      }),
    );
  });

  it('allows everything to the anonymous caller of an open service', () => {
    for (const operation of OPERATION_NAMES) policy.authorise(operation, ANONYMOUS, ECHO);
  });
});

describe('The scope policy of an agent', () => {
  const own = { id: 'deployer', access: { organisations: ['acme'], scopes: ['deploy.staging'] } };
  const caller = { ...ANONYMOUS, organisation: 'acme', scopes: new Set(['a2a.send', 'deploy.staging']) };
  const refused = (principal: Principal, agent: GuardedAgent = own) => {
    try {
      policy.authorise('sendMessage', principal, agent);
    } catch (error) {
      return error as A2AError;
    }
    return undefined;
  };

  it("asks for the agent's scopes beside that of the operation (S002-160)", () => {
    const lacking = { ...caller, scopes: new Set(['a2a.send']) };

    expect(refused(caller)).toBeUndefined();
    expect(refused(lacking)).toMatchObject({
      kind: 'permissionDenied',
      metadata: { scope: 'deploy.staging' },
      challenge: expect.stringContaining('scope="deploy.staging"'),
    });
    expect(policy.mayUse(lacking, own)).toBe(false);
  });

  it('says to other organisations that there is no such agent (S003-20)', () => {
    const stranger = { ...caller, organisation: 'umbrella' };

    expect(refused(stranger)).toEqual(noSuchAgent('deployer'));
    expect(policy.mayFind(stranger, own)).toBe(false);
  });

  it('with an empty list of organisations is there for nobody', () => {
    expect(refused(caller, { id: 'closed', access: { organisations: [] } })?.kind).toBe('notFound');
  });

  it('tells the audit log who was refused what, and nothing of a credential', () => {
    audit.records.splice(0);
    refused({ ...caller, scopes: new Set(['a2a.read']) });

    expect(audit.records).toEqual([
      {
        ...{ act: 'denied', operation: 'sendMessage', agent: 'deployer' },
        ...{ reason: 'permissionDenied', scope: 'a2a.send' },
        principal: expect.objectContaining({ organisation: 'acme', subject: 'anonymous' }),
      },
    ]);
  });
});
