import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { invalidField } from '../protocol/index.js';
import type { TaskQuery } from './task.store.js';

export type PagePosition = NonNullable<TaskQuery['after']>;

/**
 * Opaque page tokens: a position in a list, sealed for one caller and one filter. A token that was changed,
 * or that belongs to another caller or filter, is InvalidParams on `pageToken`.
 */
export class PageTokens {
  /** `secret`: shared by all replicas of a deployment. */
  constructor(private readonly secret: string) {}

  seal(position: PagePosition, query: Omit<TaskQuery, 'limit' | 'after'>): string {
    const text = JSON.stringify([position.statusAt, position.id]);
    return Buffer.concat([this.#sign(text, query), Buffer.from(text)]).toString('base64url');
  }

  open(token: string, query: Omit<TaskQuery, 'limit' | 'after'>): PagePosition {
    const bytes = Buffer.from(token, 'base64url');
    const text = bytes.subarray(SIGNATURE_BYTES).toString();
    const genuine =
      bytes.length > SIGNATURE_BYTES &&
      bytes.toString('base64url') === token &&
      timingSafeEqual(bytes.subarray(0, SIGNATURE_BYTES), this.#sign(text, query));
    if (!genuine) throw invalidField('pageToken', 'is not a token of this list');
    const [statusAt, id] = JSON.parse(text) as [number, string];
    return { statusAt, id };
  }

  #sign(text: string, { scope, contextId, state, statusAfter }: Omit<TaskQuery, 'limit' | 'after'>): Buffer {
    const filter = JSON.stringify([
      scope.organisation,
      scope.owner,
      scope.agent,
      contextId ?? '',
      state ?? 0,
      statusAfter ?? null,
    ]);
    const bound = createHash('sha256').update(filter).digest('base64');
    return createHmac('sha256', this.secret).update(`${bound}.${text}`).digest().subarray(0, SIGNATURE_BYTES);
  }
}

const SIGNATURE_BYTES = 16;
