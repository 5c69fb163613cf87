import { v03 } from '../../protocol/index.js';
import type { GrpcOperation } from '../dialect.js';
import { eventBinary } from './event.encoding.js';
import { habitsOf } from './sdk.callers.js';

/** Requests of 0.3 have no tenant; metadata can name the agent instead. */
const TENANT = 'a2a-tenant';

/** 0.3 over gRPC: the service a2a.v1. */
export const v03GrpcOperations: readonly GrpcOperation[] = v03.RPCS.map(
  ({ method, operation, read, write }) => ({
    operation,
    version: '0.3',
    service: method.parent.typeName,
    rpc: method.name,
    orPublicCard: operation === 'getExtendedAgentCard',
    statuses: {
      unsupportedOperation: 'UNIMPLEMENTED',
      pushNotificationNotSupported: 'UNIMPLEMENTED',
    },
    tenant: (_, caller) => caller.header(TENANT) ?? '',
    read: (request, caller) => (habitsOf(caller).base64 ? v03.decodeFiles(read(request)) : read(request)),
    write: (reply, caller) => (habitsOf(caller).base64 ? v03.encodeFiles(write(reply)) : write(reply)),
    events: eventBinary,
  }),
);
