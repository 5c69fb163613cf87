import { fromJson, type JsonValue } from '@bufbuild/protobuf';
import {
  A2AError,
  StreamEvent,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskSchema,
} from '../protocol/index.js';
import { TaskFold } from './task.fold.js';
import type { StoredTask, TurnClaim } from './task.store.js';
import type { TurnRequestText } from './turn.request.text.js';

/** Rows as the driver gives them: json columns as text, bigint as number. */
export interface TaskRow {
  readonly version: number;
  readonly agent_version?: string | null;
  readonly snapshot: string | null;
  readonly tail: string | null;
}

export interface ClaimRow extends TaskRow {
  readonly id: string;
  readonly snapshot_seq: number;
  readonly organisation: string;
  readonly owner: string;
  readonly agent: string;
  readonly lease_token: number;
  readonly lease_writes: number;
  readonly attempt: number;
  readonly handovers: number;
  readonly cancel_requested: boolean;
  readonly inbox_seq: number;
  readonly trigger_seq: number;
  readonly trigger: string;
  readonly request: string | null;
}

export interface EventRow {
  readonly seq: number;
  readonly payload: string;
}

/** The task that a row and the log after its snapshot fold to. */
export function storedTask(row: TaskRow): StoredTask {
  const { version } = row;
  const agentVersion = row.agent_version ?? undefined;
  const size = (row.snapshot?.length ?? 0) + (row.tail?.length ?? 0);
  const tail = row.tail ? (JSON.parse(row.tail) as JsonValue[]).map(toResponse) : [];
  if (row.snapshot && tail.length === 0) {
    return { task: fromJson(TaskSchema, JSON.parse(row.snapshot)), version, size, agentVersion };
  }
  const start = row.snapshot ? fromJson(TaskSchema, JSON.parse(row.snapshot)) : firstTask(tail.shift());
  const fold = new TaskFold(start);
  for (const response of tail) fold.apply(response);
  return { task: fold.task, version, size, agentVersion };
}

export function storedEvent(row: EventRow): StreamEvent {
  return new StreamEvent(toResponse(JSON.parse(row.payload) as JsonValue), row.seq, row.payload);
}

export function turnClaim(row: ClaimRow, requests: TurnRequestText): TurnClaim {
  return {
    lease: { taskId: row.id, token: row.lease_token },
    written: row.lease_writes,
    scope: { organisation: row.organisation, owner: row.owner, agent: row.agent },
    agentVersion: row.agent_version ?? undefined,
    attempt: row.attempt,
    crashes: Math.max(row.attempt - 1 - row.handovers, 0),
    cancelRequested: row.cancel_requested,
    stored: storedTask(row),
    trigger: storedEvent({ seq: row.trigger_seq, payload: row.trigger }),
    inboxSeq: row.inbox_seq,
    request: requests.read(row.request, row.id),
  };
}

function toResponse(json: JsonValue): StreamResponse {
  return fromJson(StreamResponseSchema, json);
}

function firstTask(first: StreamResponse | undefined): Task {
  if (first?.payload.case !== 'task') {
    throw new A2AError('internal', { cause: new Error('a log does not begin with its task') });
  }
  return first.payload.value;
}
