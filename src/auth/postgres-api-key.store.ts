import { Injectable } from '@nestjs/common';
import { DatabaseUnavailable, Postgres } from '../database/index.js';
import { A2AError } from '../protocol/index.js';
import type { ApiKey } from './api-key.js';
import { type ApiKeyFilter, ApiKeyStore, type StoredApiKey } from './api-key.store.js';

interface ApiKeyRow {
  readonly id: string;
  readonly hash: Buffer;
  readonly name: string;
  readonly organisation: string;
  readonly subject: string;
  readonly scopes: string[];
  readonly agents: string[] | null;
  readonly acts_for_others: boolean;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly revoked_at: Date | null;
}

const ADD = `
  INSERT INTO api_keys (id, hash, name, organisation, subject, scopes, agents, acts_for_others, created_at, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`;
const FIND = 'SELECT * FROM api_keys WHERE id = $1';
const LIST = `
  SELECT * FROM api_keys WHERE $1::text IS NULL OR organisation = $1 ORDER BY created_at DESC, id`;
const REVOKE = 'UPDATE api_keys SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1';

@Injectable()
export class PostgresApiKeyStore extends ApiKeyStore {
  constructor(private readonly postgres: Postgres) {
    super();
  }

  async add(key: StoredApiKey): Promise<void> {
    const { id, hash, name, organisation, subject, scopes, agents, actsForOthers, createdAt, expiresAt } =
      key;
    const values = [
      id,
      hash,
      name,
      organisation,
      subject,
      scopes,
      agents,
      actsForOthers,
      createdAt,
      expiresAt,
    ];
    await this.#query(ADD, values);
  }

  async find(id: string): Promise<StoredApiKey | undefined> {
    const { rows } = await this.#query(FIND, [id], 'find-api-key');
    return rows[0] && keyOf(rows[0]);
  }

  async list({ organisation }: ApiKeyFilter = {}): Promise<ApiKey[]> {
    const { rows } = await this.#query(LIST, [organisation]);
    return rows.map((row) => {
      const { hash: _, ...key } = keyOf(row);
      return key;
    });
  }

  async revoke(id: string): Promise<boolean> {
    return (await this.#query(REVOKE, [id])).rowCount === 1;
  }

  async #query(text: string, values: unknown[], name?: string) {
    try {
      return await this.postgres.query<ApiKeyRow & Record<string, unknown>>({ text, values, name });
    } catch (error) {
      if (error instanceof DatabaseUnavailable)
        throw new A2AError('unavailable', { retryAfter: 1, cause: error });
      throw error;
    }
  }
}

function keyOf(row: ApiKeyRow): StoredApiKey {
  const { id, hash, name, organisation, subject, scopes } = row;
  return {
    ...{ id, hash, name, organisation, subject, scopes },
    agents: row.agents ?? undefined,
    actsForOthers: row.acts_for_others,
    createdAt: row.created_at,
    expiresAt: row.expires_at ?? undefined,
    revokedAt: row.revoked_at ?? undefined,
  };
}
