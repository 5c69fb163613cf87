import { type ApiKey, ApiKeyStore, type StoredApiKey } from '../../src/auth/index.js';

/** Keys in memory. */
export class FakeApiKeys extends ApiKeyStore {
  readonly #keys = new Map<string, StoredApiKey>();
  /** How often a key was looked up. */
  finds = 0;

  async add(key: StoredApiKey): Promise<void> {
    this.#keys.set(key.id, key);
  }

  async find(id: string): Promise<StoredApiKey | undefined> {
    this.finds++;
    return this.#keys.get(id);
  }

  async list({ organisation }: { organisation?: string } = {}): Promise<ApiKey[]> {
    const keys = [...this.#keys.values()].filter(
      (key) => organisation === undefined || key.organisation === organisation,
    );
    return keys
      .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime())
      .map(({ hash: _, ...key }) => key);
  }

  async revoke(id: string): Promise<boolean> {
    const key = this.#keys.get(id);
    if (key) this.#keys.set(id, { ...key, revokedAt: key.revokedAt ?? new Date() });
    return key !== undefined;
  }
}
