import type { Config } from './config.js';

/** Whether callers have to show a credential. Without any configuration of identity the service is open. */
export const requiresCredentials = ({ oidcIssuers, apiKeys }: Pick<Config, 'oidcIssuers' | 'apiKeys'>) =>
  oidcIssuers.length > 0 || apiKeys;
