import { describe, expect, it } from 'vitest';
import { A2AError, OPERATION_NAMES, type OperationName, type Principal } from '../protocol/index.js';
import { ANONYMOUS } from './anonymous.authenticator.js';
import { SCOPE_OF, SCOPES } from './scope.js';
import { ScopePolicy } from './scope.policy.js';

const policy = new ScopePolicy();

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
    const allOthers = { ...ANONYMOUS, scopes: new Set(SCOPES.filter((s) => s !== SCOPE_OF[operation])) };

    expect(() => policy.authorise(operation, only, 'echo')).not.toThrow();
    expect(refusal(operation, allOthers)).toMatchObject({
      kind: 'permissionDenied',
      metadata: { scope: SCOPE_OF[operation] },
    });
  });

  it('refuses an operation that has no scope, whatever the caller holds (S003-09)', () => {
    const caller = { ...ANONYMOUS, scopes: new Set([...SCOPES, 'none', 'undefined']) };

    expect(refusal('dropEverything', caller).kind).toBe('permissionDenied');
    expect(refusal('toString', caller).kind).toBe('permissionDenied');
  });

  it('allows everything to the anonymous caller of an open service', () => {
    for (const operation of OPERATION_NAMES) policy.authorise(operation, ANONYMOUS, 'echo');
  });
});
