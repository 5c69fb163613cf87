import type { Config } from './config.js';

/** Whether callers have to show a credential. Without any configuration of identity the service is open. */
export const requiresCredentials = ({ oidcIssuers, apiKeys, tlsClientCa }: Identity) =>
  oidcIssuers.length > 0 || apiKeys || tlsClientCa !== undefined;

type Identity = Pick<Config, 'oidcIssuers' | 'apiKeys' | 'tlsClientCa'>;
