import type { DescMessage, Message } from '@bufbuild/protobuf';
import { encodeMessageText } from '../json.codec.js';
import { messagesIn } from './proto.parts.js';

/**
 * Something of a2a.v1 as ProtoJSON on one line. Readers of ProtoJSON refuse fields that their proto does not have, and
 * of the SDKs that read it none has the one that came last, a message's references; so it is left out, in place.
 */
export function protoJsonText(desc: DescMessage, reply: Message): string {
  for (const message of messagesIn(reply)) message.referenceTaskIds = [];
  return encodeMessageText(desc, reply);
}
