import { type Setting, setting } from './setting.js';
import {
  encryptionKey,
  flag,
  hostOrCidr,
  list,
  milliseconds,
  numbers,
  signingSecret,
  url,
  wholeNumber,
} from './setting.kinds.js';

/** What push to webhooks goes by. */
export const PUSH_SETTINGS = {
  pushSecrets: setting(
    list(
      signingSecret(),
      'give secrets such as whsec_ and 24 to 64 bytes in base64, separated by commas',
    ).default([]),
    'list',
    'Secrets that sign pushes (Standard Webhooks): each one signs, so that receivers can change over',
    { otherwise: 'made once with the embedded Postgres; else push is off', secret: true },
  ),
  pushUnsigned: setting(flag().default(false), 'true or false', 'Push without signatures'),
  pushKeys: setting(
    list(encryptionKey(), 'give pairs such as 2026=key with 32 bytes in base64, separated by commas').default(
      [],
    ),
    'list',
    'Keys that encrypt credentials of push configs and headers passed on, `name=key`: the first one writes, all read',
    { otherwise: 'made once with the embedded Postgres', secret: true },
  ),
  pushAllow: setting(
    list(hostOrCidr(), 'give hosts, *.domains or CIDR blocks, separated by commas').default([]),
    'list',
    'Internal receivers that may be pushed to all the same, also by plain http',
  ),
  pushProxy: setting(
    url(['http:', 'https:'], 'http://proxy.internal:3128').optional(),
    'URL',
    'Proxy for pushes; it has to keep them out of the internal network',
    { otherwise: 'direct connections', secret: true },
  ),
  pushTimeoutMs: setting(milliseconds().default(15_000), 'ms', 'Time for one try of a push'),
  pushRetryMs: setting(
    numbers(wholeNumber(1, 2_147_483_647), 'give milliseconds, separated by commas').default([
      5_000, 30_000, 120_000, 600_000, 3_600_000, 21_600_000, 86_400_000,
    ]),
    'ms list',
    'Pauses between the tries of a push; after the last one the config is dead',
  ),
  pushConcurrency: setting(wholeNumber(1, 10_000).default(256), 'number', 'Pushes of one replica at a time'),
} as const satisfies Record<string, Setting>;
