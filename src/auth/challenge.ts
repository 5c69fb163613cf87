import { type Config, publicUrl } from '../config/index.js';

export const RESOURCE_METADATA = '/.well-known/oauth-protected-resource';

/** What a refused caller is told (RFC 6750, 3). Without an error it showed no credential at all. */
export interface Refusal {
  readonly error?: 'invalid_token' | 'insufficient_scope';
  readonly description?: string;
  /** The scope to ask for, as tokens name it. */
  readonly scope?: string;
}

/** Writes the `WWW-Authenticate` challenges of a 401 or 403. */
export function challenge(config: Config, { error, description, scope }: Refusal): string {
  const parameters = {
    realm: 'parley',
    error,
    error_description: description,
    scope,
    resource_metadata: config.oidcIssuers.length > 0 ? metadataUrl(config) : undefined,
  };
  const written = Object.entries(parameters)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}="${value}"`);
  return `Bearer ${written.join(', ')}`;
}

/** Where RFC 9728 lets a client learn who issues tokens for this service. Unknown on a free port without public URL. */
function metadataUrl(config: Config): string | undefined {
  if (config.publicUrl === undefined && config.httpPort === 0) return undefined;
  return publicUrl(config, config.httpPort) + RESOURCE_METADATA;
}
