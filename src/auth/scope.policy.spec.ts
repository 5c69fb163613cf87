import { describe, expect, it } from 'vitest';
import { loadConfig } from '../config/index.js';
import { A2AError, OPERATION_NAMES, type OperationName, type Principal } from '../protocol/index.js';
import { ANONYMOUS } from './anonymous.authenticator.js';
import { A2A_SCOPES, SCOPE_OF } from './scope.js';
import { ScopePolicy } from './scope.policy.js';

const policy = new ScopePolicy(loadConfig({}));

function refusal(operation: string, principal: Principal): A2AError {
  try {
    policy.authorise(operation as OperationName, principal, 'echo');
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

    expect(() => policy.authorise(operation, only, 'echo')).not.toThrow();
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

    policy.authorise('getTask', caller, 'echo');
    expect(() => policy.authorise('getTask', caller, 'deployer')).toThrow('not good for this agent');
  });

  it('names a missing scope as the tokens of this deployment call it', () => {
    const renamed = new ScopePolicy(loadConfig({ PARLEY_SCOPE_NAMES: 'a2a.send=agent:spawn' }));
    const caller = { ...ANONYMOUS, scopes: new Set<string>() };

    expect(() => renamed.authorise('sendMessage', caller, 'echo')).toThrow(
      expect.objectContaining({
        metadata: { scope: 'agent:spawn' },
        challenge: 'Bearer realm="parley", error="insufficient_scope", scope="agent:spawn"',
      }),
    );
  });

  it('allows everything to the anonymous caller of an open service', () => {
    for (const operation of OPERATION_NAMES) policy.authorise(operation, ANONYMOUS, 'echo');
  });
});
