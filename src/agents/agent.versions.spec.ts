import { describe, expect, it } from 'vitest';
import { FakeAgents, fakeAgent } from '../../test/support/fake.agents.js';
import { isNewer, type Rollout, versionForContext } from './agent.versions.js';

const caller = (organisation = '', subject = 'ann', ...scopes: string[]) => ({
  organisation,
  subject,
  scopes: new Set(scopes),
});
const version = (name: string, rollout?: Rollout) => fakeAgent({ version: name, rollout });
const chosen = (versions: ReturnType<typeof version>[], contextId = 'c', principal = caller()) =>
  versionForContext(versions, { contextId, principal })?.version;

describe('The version that a new context begins on', () => {
  it('is the current one where nothing else is said', () => {
    expect(chosen([version('2.0.0'), version('1.0.0'), version('3.0.0')])).toBe('2.0.0');
  });

  it('follows the weights, and is the same for the same context', () => {
    const versions = [version('1.0.0'), version('2.0.0', { weight: 30 }), version('3.0.0', { weight: 10 })];
    const drawn = Array.from({ length: 4_000 }, (_, n) => chosen(versions, `context-${n}`));
    const share = (name: string) => drawn.filter((one) => one === name).length / drawn.length;

    expect(share('2.0.0')).toBeGreaterThan(0.26);
    expect(share('2.0.0')).toBeLessThan(0.34);
    expect(share('3.0.0')).toBeGreaterThan(0.07);
    expect(share('3.0.0')).toBeLessThan(0.13);
    expect(chosen(versions, 'context-7')).toBe(drawn[7]);
  });

  it('is the one whose rule names the caller, in each list that it has', () => {
    const callers = { organisations: ['acme'], scopes: ['beta', 'canary'] };
    const versions = [version('1.0.0'), version('2.0.0', { callers })];

    expect(chosen(versions, 'c', caller('acme', 'ann', 'beta'))).toBe('2.0.0');
    expect(chosen(versions, 'c', caller('acme', 'ann'))).toBe('1.0.0');
    expect(chosen(versions, 'c', caller('umbrella', 'ann', 'beta'))).toBe('1.0.0');
    const ann = [version('1.0.0'), version('2.0.0', { callers: { subjects: ['ann'] } })];
    expect(['ann', 'bob'].map((subject) => chosen(ann, 'c', caller('x', subject)))).toEqual([
      '2.0.0',
      '1.0.0',
    ]);
  });

  it('is none that is draining, and none that is not open to the caller', () => {
    const drains = { weight: 100, isDraining: true };
    expect(chosen([version('1.0.0'), version('2.0.0', drains)])).toBe('1.0.0');
    expect(chosen([version('1.0.0', { isDraining: true })])).toBeUndefined();
    const guarded = fakeAgent({
      version: '2.0.0',
      rollout: { weight: 100 },
      access: { organisations: ['acme'], scopes: ['beta'] },
    });
    expect(chosen([version('1.0.0'), guarded])).toBe('1.0.0');
    expect(chosen([version('1.0.0'), guarded], 'c', caller('acme', 'ann', 'beta'))).toBe('2.0.0');
  });
});

describe('The heir of a version that is no longer served', () => {
  const agents = new FakeAgents([version('2.1.0'), version('1.9.0'), version('1.10.0')]);

  it.each([
    ['2.1.0', '2.1.0'],
    ['2.0.0', '2.1.0'],
    ['1.0.0', '1.10.0'],
    ['3.0.0', undefined],
    [undefined, '2.1.0'],
  ])('%s is %s', (gone, heir) => {
    expect(agents.heir('echo', gone)?.version).toBe(heir);
  });

  it('counts number by number', () => {
    expect([isNewer('1.10.0', '1.9.0'), isNewer('1.9.0', '1.10.0'), isNewer('1.0', '1.0')]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
