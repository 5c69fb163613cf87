import type { JsonObject } from '@bufbuild/protobuf';
import type { Artifact, Message, Part, StreamResponse, Task } from '../gen/a2a_pb.js';
import { EXTENSION_URIS } from './extension.uri.js';

type Uris = ReadonlySet<string>;
/** What has metadata and parts with metadata. */
type Bearer = Message | Artifact;

const OWN: Uris = new Set<string>(Object.values(EXTENSION_URIS));
const NONE: readonly string[] = [];

/** The service's own extensions whose data is not for a reader who has activated these. */
export function hiddenExtensions(active: readonly string[]): Uris {
  return active.length === 0 ? OWN : new Set([...OWN].filter((uri) => !active.includes(uri)));
}

/** The service's own extensions that have data anywhere in it, in the order of their URIs. */
export function extensionsIn(value: Task | Message | StreamResponse): readonly string[] {
  const found: string[] = [];
  look(value, found);
  return found.length === 0 ? NONE : [...new Set(found)].sort();
}

function look(value: Task | Message | StreamResponse, found: string[]): void {
  if (value.$typeName === 'lf.a2a.v1.Message') lookInBearer(value, found);
  else if (value.$typeName === 'lf.a2a.v1.Task') lookInTask(value, found);
  else lookInPayload(value.payload, found);
}

function lookInPayload(payload: StreamResponse['payload'], found: string[]): void {
  if (payload.case === 'task') lookInTask(payload.value, found);
  else if (payload.case === 'message') lookInBearer(payload.value, found);
  else if (payload.case !== undefined) {
    lookInMetadata(payload.value.metadata, found);
    const update = payload.case === 'statusUpdate' ? payload.value.status?.message : payload.value.artifact;
    lookInBearer(update, found);
  }
}

function lookInTask({ metadata, status, history, artifacts }: Task, found: string[]): void {
  lookInMetadata(metadata, found);
  lookInBearer(status?.message, found);
  for (const message of history) lookInBearer(message, found);
  for (const artifact of artifacts) lookInBearer(artifact, found);
}

function lookInBearer(bearer: Bearer | undefined, found: string[]): void {
  if (bearer === undefined) return;
  lookInMetadata(bearer.metadata, found);
  for (const uri of bearer.extensions) if (OWN.has(uri)) found.push(uri);
  for (const part of bearer.parts) if (part.metadata !== undefined) lookInMetadata(part.metadata, found);
}

function lookInMetadata(metadata: JsonObject | undefined, found: string[]): void {
  if (metadata === undefined) return;
  for (const key of Object.keys(metadata)) if (OWN.has(key)) found.push(key);
}

/** A copy without any data of these extensions; the original where it has none. */
export function withoutExtensions<T extends Task | Message | StreamResponse>(value: T, hidden: Uris): T {
  return extensionsIn(value).some((uri) => hidden.has(uri)) ? (copy(value, hidden) as T) : value;
}

function copy(value: Task | Message | StreamResponse, hidden: Uris): Task | Message | StreamResponse {
  if (value.$typeName === 'lf.a2a.v1.Message') return bare(value, hidden);
  if (value.$typeName === 'lf.a2a.v1.Task') return bareTask(value, hidden);
  return { ...value, payload: barePayload(value.payload, hidden) };
}

function barePayload(payload: StreamResponse['payload'], hidden: Uris): StreamResponse['payload'] {
  switch (payload.case) {
    case 'task':
      return { case: 'task', value: bareTask(payload.value, hidden) };
    case 'message':
      return { case: 'message', value: bare(payload.value, hidden) };
    case 'statusUpdate': {
      const { status, metadata } = payload.value;
      const value = {
        ...payload.value,
        status: bareStatus(status, hidden),
        metadata: kept(metadata, hidden),
      };
      return { case: 'statusUpdate', value };
    }
    case 'artifactUpdate': {
      const { artifact, metadata } = payload.value;
      const shown = artifact && bare(artifact, hidden);
      return {
        case: 'artifactUpdate',
        value: { ...payload.value, artifact: shown, metadata: kept(metadata, hidden) },
      };
    }
    default:
      return payload;
  }
}

function bareTask(task: Task, hidden: Uris): Task {
  return {
    ...task,
    metadata: kept(task.metadata, hidden),
    status: bareStatus(task.status, hidden),
    history: task.history.map((message) => bare(message, hidden)),
    artifacts: task.artifacts.map((artifact) => bare(artifact, hidden)),
  };
}

function bareStatus(status: Task['status'], hidden: Uris): Task['status'] {
  return status?.message ? { ...status, message: bare(status.message, hidden) } : status;
}

function bare<T extends Bearer>(bearer: T, hidden: Uris): T {
  return {
    ...bearer,
    metadata: kept(bearer.metadata, hidden),
    extensions: bearer.extensions.filter((uri) => !hidden.has(uri)),
    parts: bearer.parts.map((part): Part => ({ ...part, metadata: kept(part.metadata, hidden) })),
  };
}

/** Metadata that had nothing else is left out. */
function kept(metadata: JsonObject | undefined, hidden: Uris): JsonObject | undefined {
  if (metadata === undefined) return undefined;
  const entries = Object.entries(metadata);
  const left = entries.filter(([key]) => !hidden.has(key));
  if (left.length === entries.length) return metadata;
  return left.length === 0 ? undefined : Object.fromEntries(left);
}
