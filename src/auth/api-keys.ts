import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { SCOPES } from '../config/index.js';
import { A2AError } from '../protocol/index.js';
import { type ApiKey, hashOf, newApiKeyText, writeApiKey } from './api-key.js';
import { type ApiKeyFilter, ApiKeyStore } from './api-key.store.js';
import { AuditLog, operatorNamed } from './audit.log.js';
import { isOwnScope } from './scope.js';

const name = z.string().regex(/^[\x20-\x7e]{1,200}$/, 'has to be 1 to 200 visible ASCII characters');
/** One of ours, or one that an agent asks for; what looks like ours and is none is a slip of the pen. */
const scope = z
  .string()
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/, 'has to be visible ASCII without spaces')
  .refine(
    (value) => isOwnScope(value) || !/^(a2a|parley)\./.test(value),
    `has to be one of ${SCOPES.join(', ')}, or a scope that an agent asks for`,
  );
const agent = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'has to be an agent id');

/** What a new key is made of. It is its own subject unless one is named, so that no two keys share tasks by accident. */
export const NewApiKey = z.strictObject({
  name,
  organisation: name,
  subject: name.optional(),
  scopes: z.array(scope).min(1, 'has to have at least one'),
  agents: z.array(agent).min(1, 'has to name at least one; leave it out for all').optional(),
  actsForOthers: z.boolean().default(false),
  expiresAt: z.coerce
    .date('has to be a time such as 2027-01-31T00:00:00Z')
    .refine((time) => time.getTime() > Date.now(), 'has to be in the future')
    .optional(),
});

/** A key and its text, which is shown this once. */
export interface MadeApiKey {
  readonly key: ApiKey;
  readonly text: string;
}

/** Makes, lists and revokes API keys, for the operator. */
@Injectable()
export class ApiKeys {
  constructor(
    private readonly store: ApiKeyStore,
    private readonly audit: AuditLog,
  ) {}

  /** `by` is the operator who is known. */
  async make(wanted: z.output<typeof NewApiKey>, by?: string): Promise<MadeApiKey> {
    const text = newApiKeyText();
    const key = {
      ...wanted,
      id: text.id,
      subject: wanted.subject ?? `key:${text.id}`,
      createdAt: new Date(),
    };
    await this.store.add({ ...key, hash: hashOf(text.secret) });
    this.#record('key.made', key.id, by);
    return { key, text: writeApiKey(text) };
  }

  /** Newest first, revoked and expired ones too. */
  list(filter?: ApiKeyFilter): Promise<ApiKey[]> {
    return this.store.list(filter);
  }

  /** Holds on every replica within seconds. @throws A2AError `notFound` */
  async revoke(id: string, by?: string): Promise<void> {
    if (!(await this.store.revoke(id))) throw new A2AError('notFound', { message: 'There is no such key' });
    this.#record('key.revoked', id, by);
  }

  #record(act: 'key.made' | 'key.revoked', keyId: string, by: string | undefined): void {
    this.audit.record({ act, keyId, principal: operatorNamed(by) });
  }
}
