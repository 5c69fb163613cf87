import type { Message as AnyMessage } from '@bufbuild/protobuf';
import type * as pb from '../gen/a2a_v03_pb.js';

/** What of a2a.v1 holds messages or artifacts somewhere. */
type Holder =
  | pb.Task
  | pb.Message
  | pb.SendMessageResponse
  | pb.StreamResponse
  | pb.TaskStatusUpdateEvent
  | pb.TaskArtifactUpdateEvent;

/** The messages in something of a2a.v1; none where it is no such thing. */
export function messagesIn(reply: AnyMessage): readonly pb.Message[] {
  const holder = reply as AnyMessage as Holder;
  switch (holder.$typeName) {
    case 'a2a.v1.Message':
      return [holder];
    case 'a2a.v1.Task':
      return holder.status?.update ? [...holder.history, holder.status.update] : holder.history;
    case 'a2a.v1.TaskStatusUpdateEvent':
      return holder.status?.update ? [holder.status.update] : [];
    case 'a2a.v1.SendMessageResponse':
    case 'a2a.v1.StreamResponse':
      return holder.payload.value ? messagesIn(holder.payload.value) : [];
    default:
      return [];
  }
}

/** The parts in something of a2a.v1, of messages and of artifacts. */
export function partsIn(reply: AnyMessage): readonly pb.Part[] {
  return [
    ...messagesIn(reply).flatMap(({ content }) => content),
    ...artifactsIn(reply).flatMap(({ parts }) => parts),
  ];
}

function artifactsIn(reply: AnyMessage): readonly pb.Artifact[] {
  const holder = reply as AnyMessage as Holder;
  switch (holder.$typeName) {
    case 'a2a.v1.Task':
      return holder.artifacts;
    case 'a2a.v1.TaskArtifactUpdateEvent':
      return holder.artifact ? [holder.artifact] : [];
    case 'a2a.v1.SendMessageResponse':
    case 'a2a.v1.StreamResponse':
      return holder.payload.value ? artifactsIn(holder.payload.value) : [];
    default:
      return [];
  }
}
