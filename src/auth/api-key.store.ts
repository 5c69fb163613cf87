import type { ApiKey } from './api-key.js';

/** A key with the hash of its secret. */
export interface StoredApiKey extends ApiKey {
  readonly hash: Buffer;
}

/** Which keys a list shows. */
export interface ApiKeyFilter {
  readonly organisation?: string;
}

/** Where API keys are kept. */
export abstract class ApiKeyStore {
  abstract add(key: StoredApiKey): Promise<void>;
  /** Also finds keys that have expired or are revoked. */
  abstract find(id: string): Promise<StoredApiKey | undefined>;
  /** Newest first, all of them. */
  abstract list(filter?: ApiKeyFilter): Promise<ApiKey[]>;
  /** False when there is no such key. Revoking again changes nothing. */
  abstract revoke(id: string): Promise<boolean>;
}
