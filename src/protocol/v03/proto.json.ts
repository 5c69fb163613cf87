import type { DescMessage, Message } from '@bufbuild/protobuf';
import { encodeMessageText } from '../json.codec.js';
import { messagesIn, partsIn } from './proto.parts.js';

/*
 * Readers of ProtoJSON refuse fields that their proto does not have, where those of the binary form skip them. Of the
 * SDKs that read it none has the field that came last, a message's references; so it is always left out.
 */

/** Something of a2a.v1 as ProtoJSON on one line. Changes what it is given. */
export function protoJsonText(desc: DescMessage, reply: Message): string {
  for (const message of messagesIn(reply)) message.referenceTaskIds = [];
  return encodeMessageText(desc, reply);
}

/** Leaves out what the first proto of 0.3 did not have: metadata of parts, and names of files. In place. */
export function firstProto<T extends Message>(reply: T): T {
  for (const part of partsIn(reply)) {
    part.metadata = undefined;
    if (part.part.case === 'file') part.part.value.name = '';
  }
  return reply;
}
