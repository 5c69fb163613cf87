import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import forge from 'node-forge';

export interface Certificate {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

export interface Wanted {
  readonly commonName?: string;
  readonly organisation?: string;
  readonly uri?: string;
  /** Valid until so many seconds from now; a day otherwise. */
  readonly validForS?: number;
}

const DNS = 2;
const URI = 6;
const IP = 7;
const SHA256 = () => forge.md.sha256.create();

/** An authority of its own, which signs certificates for servers on this machine and for clients. */
export class Authority {
  readonly #keys = forge.pki.rsa.generateKeyPair(2048);
  readonly #certificate: forge.pki.Certificate;

  constructor(name: string) {
    this.#certificate = certificateFor(this.#keys, { commonName: name });
    this.#certificate.setIssuer(this.#certificate.subject.attributes);
    this.#certificate.setExtensions([
      { name: 'basicConstraints', cA: true },
      { name: 'keyUsage', keyCertSign: true },
    ]);
    this.#certificate.sign(this.#keys.privateKey, SHA256());
  }

  get cert(): string {
    return forge.pki.certificateToPem(this.#certificate);
  }

  server(): Certificate {
    return this.#issue({ commonName: 'localhost' }, [
      { type: DNS, value: 'localhost' },
      { type: IP, ip: '127.0.0.1' },
    ]);
  }

  client(wanted: Wanted): Certificate {
    return this.#issue(wanted, wanted.uri ? [{ type: URI, value: wanted.uri }] : []);
  }

  #issue(wanted: Wanted, altNames: object[]): Certificate {
    const keys = forge.pki.rsa.generateKeyPair(2048);
    const certificate = certificateFor(keys, wanted);
    certificate.setIssuer(this.#certificate.subject.attributes);
    if (altNames.length > 0) certificate.setExtensions([{ name: 'subjectAltName', altNames }]);
    certificate.sign(this.#keys.privateKey, SHA256());
    return { cert: forge.pki.certificateToPem(certificate), key: forge.pki.privateKeyToPem(keys.privateKey) };
  }
}

function certificateFor(
  keys: forge.pki.rsa.KeyPair,
  { commonName, organisation, validForS = 86_400 }: Wanted,
) {
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = keys.publicKey;
  certificate.serialNumber = `01${forge.util.bytesToHex(forge.random.getBytesSync(15))}`;
  certificate.validity.notBefore = new Date(Date.now() - 86_400_000);
  certificate.validity.notAfter = new Date(Date.now() + validForS * 1000);
  certificate.setSubject([
    ...(commonName ? [{ name: 'commonName', value: commonName }] : []),
    ...(organisation ? [{ name: 'organizationName', value: organisation }] : []),
  ]);
  return certificate;
}

/** Files in a folder of their own. */
export class CertificateFiles {
  readonly #folder = mkdtempSync(join(tmpdir(), 'parley-tls-'));

  write(name: string, content: string): string {
    const path = join(this.#folder, name);
    writeFileSync(path, content);
    return path;
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
