import { describe, expect, it } from 'vitest';
import { loadConfig } from './config.loader.js';

const DAY = 86_400_000;
const keepEnded = (value?: string) => loadConfig({ PARLEY_KEEP_ENDED: value }).keepEnded;

describe('Ages', () => {
  it('hold for all, an agent, an organisation, or both', () => {
    expect(keepEnded('30d, echo=12h, @acme=ever, echo@acme=90s')).toEqual([
      { agent: undefined, organisation: undefined, ms: 30 * DAY },
      { agent: 'echo', organisation: undefined, ms: DAY / 2 },
      { agent: undefined, organisation: 'acme', ms: Number.POSITIVE_INFINITY },
      { agent: 'echo', organisation: 'acme', ms: 90_000 },
    ]);
  });

  it('leave the default to all others where only some are named', () => {
    expect(keepEnded('echo=1d')).toHaveLength(2);
    expect(keepEnded('echo=1d')[1]).toEqual({ agent: undefined, organisation: undefined, ms: 90 * DAY });
    expect(keepEnded()).toEqual([{ agent: undefined, organisation: undefined, ms: 90 * DAY }]);
  });

  it.each(['90', '90 days', '-1d', 'Echo=1d', 'echo=', '@=1d', '1d,,2d', '999999d'])(
    'are not %j',
    (value) => {
      expect(() => keepEnded(value)).toThrow('give ages such as');
    },
  );
});
