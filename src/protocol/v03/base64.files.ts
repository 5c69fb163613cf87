import type { Message as AnyMessage } from '@bufbuild/protobuf';
import type { Part, SendMessageRequest } from '../gen/a2a_pb.js';
import { partsIn } from './proto.parts.js';

/*
 * In the JSON of 0.3 a file is base64 text. The public SDKs of 0.3 for Python, Go and Java, clients and servers, put
 * that text as it is where the proto has the file's bytes; the one for JavaScript puts the bytes there.
 */

/** Takes files that are base64 text for what the text says, in place. Bytes that are no such text stay. */
export function decodeFiles(request: AnyMessage): AnyMessage {
  const { message } = request as SendMessageRequest;
  for (const { content } of message?.parts ?? []) decodeFile(content);
  return request;
}

function decodeFile(content: Part['content']): void {
  if (content.case !== 'raw') return;
  const text = Buffer.from(content.value).toString('latin1');
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') === text) content.value = bytes;
}

/** Puts base64 text where files have bytes, in place. */
export function encodeFiles<T extends AnyMessage>(reply: T): T {
  for (const { part } of partsIn(reply)) {
    if (part.case !== 'file' || part.value.file.case !== 'fileWithBytes') continue;
    const { file } = part.value;
    file.value = Buffer.from(Buffer.from(file.value).toString('base64'));
  }
  return reply;
}
