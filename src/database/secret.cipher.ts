import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts credentials that have to be stored (AES-256-GCM). The first key writes, all of them read, so that keys
 * can be changed without a pause. A text is bound to its place: it does not open elsewhere.
 */
export class SecretCipher {
  readonly #keys: ReadonlyMap<string, Buffer>;
  readonly #newest: string;

  /** `keys`: `name=base64`, at least one. */
  constructor(keys: readonly string[]) {
    const pairs = keys.map((key) => {
      const at = key.indexOf('=');
      return [key.slice(0, at), Buffer.from(key.slice(at + 1), 'base64')] as const;
    });
    this.#keys = new Map(pairs);
    this.#newest = pairs[0]![0];
  }

  encrypt(text: string, place: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#keys.get(this.#newest)!, iv).setAAD(Buffer.from(place));
    const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `${this.#newest}.${sealed.toString('base64')}`;
  }

  /** @throws Error when the key is not there any more or the text was tampered with */
  decrypt(sealed: string, place: string): string {
    const [name = '', text = ''] = sealed.split('.', 2);
    const key = this.#keys.get(name);
    if (!key) throw new Error(`The key "${name}" is not configured`);
    const bytes = Buffer.from(text, 'base64');
    const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, IV_BYTES))
      .setAAD(Buffer.from(place))
      .setAuthTag(bytes.subarray(-TAG_BYTES));
    return decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  }
}
