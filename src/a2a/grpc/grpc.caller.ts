import type { PeerCertificate } from 'node:tls';
import type { Metadata, ServerUnaryCall } from '@grpc/grpc-js';
import { Caller } from '../caller.js';

type AuthContext = ReturnType<ServerUnaryCall<unknown, unknown>['getAuthContext']>;

/** What both kinds of grpc-js server call have. */
export interface ServerCall {
  readonly cancelled: boolean;
  readonly metadata: Metadata;
  getPeer(): string;
  getAuthContext(): AuthContext;
  sendMetadata(metadata: Metadata): void;
  on(event: 'cancelled', listener: () => void): unknown;
}

/** The other end of a gRPC call. grpc-js says `cancelled` for a client that left and for a deadline that passed. */
export class GrpcCaller extends Caller {
  constructor(private readonly call: ServerCall) {
    super();
  }

  header(name: string): string | undefined {
    const values = this.call.metadata.get(name);
    return values.length === 0 ? undefined : values.join(', ');
  }

  /** Without its port, which is another one for each connection. */
  override get address(): string {
    return this.call.getPeer().replace(/:\d+$/, '');
  }

  /** grpc-js tells it only where it has been verified. */
  override get certificate(): PeerCertificate | undefined {
    return this.call.getAuthContext().sslPeerCertificate;
  }

  get gone(): boolean {
    return this.call.cancelled;
  }

  protected onGone(look: () => void): void {
    this.call.on('cancelled', look);
  }
}
