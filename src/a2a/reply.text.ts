import type { Message } from '@bufbuild/protobuf';
import {
  encodeMessageText,
  type ListTasksRequest,
  OPERATIONS,
  type OperationName,
} from '../protocol/index.js';

/** What an operation answered, as ProtoJSON. A list that was asked for artifacts shows them also where there are none. */
export function replyText(operation: OperationName, request: Message, reply: Message): string {
  const emptyArtifacts = operation === 'listTasks' && (request as ListTasksRequest).includeArtifacts === true;
  return encodeMessageText(OPERATIONS[operation].output, reply as never, { emptyArtifacts });
}
