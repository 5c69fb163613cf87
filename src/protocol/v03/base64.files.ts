import type { Message as AnyMessage } from '@bufbuild/protobuf';
import type { Part, SendMessageRequest } from '../gen/a2a_pb.js';
import type * as pb from '../gen/a2a_v03_pb.js';

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
  for (const { part } of partsOf(reply as AnyMessage as Holder)) {
    if (part.case !== 'file' || part.value.file.case !== 'fileWithBytes') continue;
    const { file } = part.value;
    file.value = Buffer.from(Buffer.from(file.value).toString('base64'));
  }
  return reply;
}

/** What holds parts somewhere. */
type Holder =
  | pb.Task
  | pb.Message
  | pb.SendMessageResponse
  | pb.StreamResponse
  | pb.TaskStatusUpdateEvent
  | pb.TaskArtifactUpdateEvent;

function partsOf(holder: Holder): readonly pb.Part[] {
  switch (holder.$typeName) {
    case 'a2a.v1.Message':
      return holder.content;
    case 'a2a.v1.Task': {
      const messages = [...holder.history, ...(holder.status?.update ? [holder.status.update] : [])];
      return [...messages.flatMap(partsOf), ...holder.artifacts.flatMap(({ parts }) => parts)];
    }
    case 'a2a.v1.TaskStatusUpdateEvent':
      return holder.status?.update?.content ?? [];
    case 'a2a.v1.TaskArtifactUpdateEvent':
      return holder.artifact?.parts ?? [];
    case 'a2a.v1.SendMessageResponse':
    case 'a2a.v1.StreamResponse':
      return holder.payload.value ? partsOf(holder.payload.value) : [];
    default:
      return [];
  }
}
