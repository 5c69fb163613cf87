import { ages } from './ages.js';
import { setting } from './setting.js';
import { signingSecret, url } from './setting.kinds.js';

/** Tasks that wait for an approval, and how operators hear of those that wait. */
export const APPROVAL_SETTINGS = {
  approvalExpiry: setting(
    ages('ever'),
    'ages',
    'How long tasks wait for an approval before it is refused, such as `8h,deployer=30m`; in the form of `PARLEY_KEEP_ENDED`',
    { otherwise: 'ever' },
  ),
  approvalWebhook: setting(
    url(['https:', 'http:'], 'https://hooks.example.com/services/approvals').optional(),
    'URL',
    'Chat or ticket system that is told which tasks begin and end to wait, as JSON with a `text` that Slack shows',
    { otherwise: 'nobody is told', secret: true },
  ),
  approvalSecret: setting(
    signingSecret().optional(),
    'text',
    'Secret that signs what is told there (Standard Webhooks)',
    { otherwise: 'none; the webhook needs one', secret: true },
  ),
} as const;
