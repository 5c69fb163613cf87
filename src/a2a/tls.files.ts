import { readFileSync, type StatsListener, unwatchFile, watchFile } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { Logger } from '@nestjs/common';
import { type Config, ConfigError } from '../config/index.js';

/** Looked at by their times: whatever puts certificates in place (a mounted secret, a renewal) changes those. */
const LOOK_MS = 2_000;

interface FileNames {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string;
}

type Listener = (context: SecureContextOptions) => void;

/** The certificates of both listeners, read again when one of the files changes. Stop it in the end. */
export class TlsFiles {
  readonly #logger = new Logger('tls');
  readonly #listeners: Listener[] = [];
  readonly #onChange: StatsListener = () => this.#readAgain();
  #context: SecureContextOptions;

  /** Undefined where TLS is not configured. @throws ConfigError where the files are no good */
  static load({ tlsCert: cert, tlsKey: key, tlsClientCa: ca }: Config): TlsFiles | undefined {
    return cert && key ? new TlsFiles({ cert, key, ca }) : undefined;
  }

  private constructor(private readonly names: FileNames) {
    try {
      this.#context = read(names);
    } catch (error) {
      const what = `the certificate cannot be used (${(error as Error).message})`;
      throw new ConfigError([{ where: 'PARLEY_TLS_CERT, PARLEY_TLS_KEY', what }]);
    }
    for (const file of this.#files) watchFile(file, { interval: LOOK_MS, persistent: false }, this.#onChange);
  }

  /** As read last. */
  get context(): SecureContextOptions {
    return this.#context;
  }

  /**
   * A client may show a certificate and need not: who calls is settled call by call. One that does not verify
   * counts as none, which the handlers see by `authorized`.
   */
  get handshake(): { readonly requestCert: boolean; readonly rejectUnauthorized: false } {
    return { requestCert: this.names.ca !== undefined, rejectUnauthorized: false };
  }

  /** For new connections; those that are open keep what they began with. */
  onChange(listener: Listener): void {
    this.#listeners.push(listener);
  }

  stop(): void {
    for (const file of this.#files) unwatchFile(file, this.#onChange);
  }

  get #files(): string[] {
    return Object.values(this.names).filter((file) => file !== undefined);
  }

  /** Certificate and key rarely change in the same moment: what does not fit together yet is waited for. */
  #readAgain(): void {
    try {
      this.#context = read(this.names);
      for (const listener of this.#listeners) listener(this.#context);
      this.#logger.log('New certificates are in use');
    } catch (cause) {
      this.#logger.warn({ message: 'The changed certificates cannot be used; the old ones stay', cause });
    }
  }
}

/** @throws Error when a file cannot be read, or key and certificate do not belong together */
function read({ cert, key, ca }: FileNames): SecureContextOptions {
  const context: SecureContextOptions = {
    cert: readFileSync(cert),
    key: readFileSync(key),
    ca: ca && readFileSync(ca),
    minVersion: 'TLSv1.2',
  };
  createSecureContext(context);
  return context;
}
