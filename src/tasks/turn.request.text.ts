import type { SecretCipher } from '../database/index.js';
import type { TurnRequest } from './task.store.js';

type StoredRequest = Omit<TurnRequest, 'headers'> & { readonly headers?: string };

/**
 * The text that a turn's request is stored as. Headers of the caller are encrypted and bound to their task; without
 * a cipher they are left out.
 */
export class TurnRequestText {
  constructor(private readonly cipher: SecretCipher | undefined) {}

  write({ headers, ...request }: TurnRequest, taskId: string): string {
    const sealed = headers && this.cipher?.encrypt(JSON.stringify(headers), taskId);
    return JSON.stringify({ ...request, headers: sealed } satisfies StoredRequest);
  }

  /** Headers whose key was taken away are gone. */
  read(text: string | null, taskId: string): TurnRequest {
    const { headers: sealed, ...request } = JSON.parse(text ?? '{}') as StoredRequest;
    if (sealed === undefined) return request;
    try {
      const headers = JSON.parse(this.cipher?.decrypt(sealed, taskId) ?? '{}') as Record<string, string>;
      return { ...request, headers };
    } catch {
      return request;
    }
  }
}
