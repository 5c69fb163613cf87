import { decodeMessage, OPERATIONS, operationByMethod } from '../../protocol/index.js';
import type { JsonRpcDialect } from '../dialect.js';
import { replyText } from '../reply.text.js';

/** 1.0: methods and params as the proto has them (specification 9). */
export const jsonRpc: JsonRpcDialect = {
  method(name) {
    const operation = operationByMethod(name);
    return (
      operation && {
        operation,
        read: (params) => decodeMessage(OPERATIONS[operation].input, params),
        write: (reply, request) => replyText(operation, request, reply),
      }
    );
  },
  event: ({ json }) => json,
  refusal: (fault, _, encode) => encode(fault),
};
