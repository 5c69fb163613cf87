import { ServerCredentials } from '@grpc/grpc-js';
import type { TlsFiles } from '../tls.files.js';

/** TLS of grpc-js from files that may change. Its own kinds either ask for no client certificate or insist on one. */
export class FileCredentials extends ServerCredentials {
  constructor(files: TlsFiles) {
    super(files.handshake, files.context);
    files.onChange((context) => this.updateSecureContextOptions(context));
  }

  _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}
