import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ApiKeyStore, hashOf, newApiKeyText, type StoredApiKey } from '../../src/auth/index.js';
import { PostgresApiKeyStore } from '../../src/auth/postgres-api-key.store.js';
import { Postgres } from '../../src/database/index.js';
import { testConfig } from '../support/config.js';
import { FakeApiKeys } from '../support/fake.api-keys.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';

let database: TestDatabase;
let postgres: Postgres;
beforeAll(async () => {
  database = await createDatabase();
  postgres = new Postgres(testConfig({ PARLEY_DATABASE_URL: database.url }));
});
afterAll(async () => {
  await postgres.onApplicationShutdown();
  await database.drop();
});

function newKey(given: Partial<StoredApiKey> = {}): StoredApiKey {
  const { id, secret } = newApiKeyText();
  return {
    ...{ id, hash: hashOf(secret), name: 'ci', organisation: 'acme', subject: 'ci', scopes: ['a2a.send'] },
    ...{ agents: undefined, actsForOthers: false, createdAt: new Date(), expiresAt: undefined },
    ...given,
  };
}

describe.each<[string, () => ApiKeyStore]>([
  ['PostgresApiKeyStore', () => new PostgresApiKeyStore(postgres)],
  ['FakeApiKeys', () => new FakeApiKeys()],
])('%s', (_name, make) => {
  let keys: ApiKeyStore;
  beforeEach(() => {
    keys = make();
  });

  it('finds a key as it was added', async () => {
    const plain = newKey();
    const special = newKey({
      ...{ agents: ['echo', 'deployer'], scopes: [], actsForOthers: true },
      expiresAt: new Date(Date.now() + 1000),
    });
    await keys.add(plain);
    await keys.add(special);

    expect(await keys.find(plain.id)).toEqual(plain);
    expect(await keys.find(special.id)).toEqual(special);
    expect(await keys.find('0123456789abcdef')).toBeUndefined();
  });

  it('lists the keys of an organisation, newest first, without their hashes', async () => {
    const organisation = crypto.randomUUID();
    const older = newKey({ organisation, createdAt: new Date(1000) });
    const newer = newKey({ organisation, createdAt: new Date(2000) });
    await Promise.all([older, newer, newKey()].map((key) => keys.add(key)));

    const listed = await keys.list({ organisation });
    expect(listed.map(({ id }) => id)).toEqual([newer.id, older.id]);
    expect(listed[0]).not.toHaveProperty('hash');
    expect((await keys.list()).map(({ id }) => id)).toEqual(expect.arrayContaining([newer.id, older.id]));
  });

  it('revokes a key once, and keeps it to be seen', async () => {
    const key = newKey();
    await keys.add(key);

    expect(await keys.revoke(key.id)).toBe(true);
    const revokedAt = (await keys.find(key.id))?.revokedAt;
    expect(revokedAt).toBeInstanceOf(Date);
    expect(await keys.revoke(key.id)).toBe(true);
    expect((await keys.find(key.id))?.revokedAt).toEqual(revokedAt);
    expect(await keys.revoke('0123456789abcdef')).toBe(false);
  });
});
