import { Metadata, type StatusObject } from '@grpc/grpc-js';
import { type GrpcStatusName, toGrpcError } from '../../protocol/index.js';
import type { Fault } from '../faults.js';

/** A fault as a gRPC status, its details in the trailer where clients look for them (10.6). */
export function statusOf({ error, traceId }: Fault, status?: GrpcStatusName): StatusObject {
  const { code, message, details } = toGrpcError(error, traceId, status);
  const metadata = new Metadata();
  metadata.set('grpc-status-details-bin', Buffer.from(details));
  return { code, details: message, metadata };
}
