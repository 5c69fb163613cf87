import { describe, expect, it } from 'vitest';
import { testConfig } from '../../test/support/config.js';
import { ConfigError } from '../config/index.js';
import type { TaskStore, WaitLog } from '../tasks/index.js';
import { ApprovalWebhook } from './approval.webhook.js';
import type { WaitWatch } from './wait.watch.js';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
/** Nothing is told before the service has started. */
const UNUSED = {} as WaitLog & TaskStore & WaitWatch;

function start(url: string, env: Record<string, string> = {}): ApprovalWebhook {
  const given = { PARLEY_APPROVAL_WEBHOOK: url, PARLEY_APPROVAL_SECRET: SECRET, ...env };
  return new ApprovalWebhook(testConfig(given), UNUSED, UNUSED, UNUSED);
}

describe('The address of the approval webhook', () => {
  it.each(['http://hooks.example.com/T0/secret', 'https://10.0.0.7/secret', 'https://u:secret@h.example/'])(
    'may not be %s, which is said without saying it',
    (url) => {
      const failure = () => start(url);
      expect(failure).toThrow(ConfigError);
      expect(failure).toThrow(/PARLEY_APPROVAL_WEBHOOK.*PARLEY_PUSH_ALLOW/);
      expect(failure).not.toThrow(/secret/);
    },
  );

  it('may be any public one, and one inside the network that the operator has opened', () => {
    expect(start('https://hooks.example.com/T0/secret')).toBeInstanceOf(ApprovalWebhook);
    expect(start('http://10.0.0.7/', { PARLEY_PUSH_ALLOW: '10.0.0.0/8' })).toBeInstanceOf(ApprovalWebhook);
  });

  it('needs a secret to sign with', () => {
    expect(() => start('https://hooks.example.com/', { PARLEY_APPROVAL_SECRET: '' })).toThrow(
      'PARLEY_APPROVAL_SECRET: not set',
    );
  });
});
