import type { JsonObject } from '@bufbuild/protobuf';
import { expect, vi } from 'vitest';
import type { BindingClient, Headers, Reply } from './clients/index.js';

/** A task in ProtoJSON, as far as tests look into it. */
export interface TaskJson extends JsonObject {
  id: string;
  contextId: string;
  status: { state: string; timestamp: string; message?: MessageJson };
  history: MessageJson[];
  artifacts: ArtifactJson[];
  metadata: JsonObject;
}

export interface MessageJson extends JsonObject {
  messageId: string;
  role: string;
  parts: PartJson[];
}

export interface ArtifactJson extends JsonObject {
  artifactId: string;
  name: string;
  parts: PartJson[];
  metadata: JsonObject;
  extensions: string[];
}

export interface PartJson extends JsonObject {
  text: string;
}

/** A message of a person, with an id that was never used. */
export function says(text: string, more: JsonObject = {}): JsonObject {
  return { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more };
}

/** Sends and waits. @throws Refused */
export async function send(
  client: BindingClient,
  message: string | JsonObject,
  configuration?: JsonObject,
  headers?: Headers,
): Promise<TaskJson> {
  const request = { message: typeof message === 'string' ? says(message) : message };
  const body = configuration ? { ...request, configuration } : request;
  return (await client.result('sendMessage', body, headers)).task as TaskJson;
}

/** Sends and does not wait. */
export const start = (client: BindingClient, message: string | JsonObject, headers?: Headers) =>
  send(client, message, { returnImmediately: true }, headers);

export async function read(client: BindingClient, id: string, headers?: Headers): Promise<TaskJson> {
  return (await client.result('getTask', { id }, headers)) as TaskJson;
}

/** Reads the task until it is in that state. */
export function reaches(client: BindingClient, id: string, state: string): Promise<TaskJson> {
  return vi.waitFor(
    async () => {
      const task = await read(client, id);
      expect(task.status.state).toBe(`TASK_STATE_${state}`);
      return task;
    },
    { timeout: 30_000, interval: 20 },
  );
}

export const taskIn = (reply: Reply): TaskJson => {
  expect(reply.refusal).toBeUndefined();
  return (reply.result?.task ?? reply.result) as TaskJson;
};

/** What an artifact says, its text parts joined. */
export const textOf = (artifact: ArtifactJson | undefined): string =>
  (artifact?.parts ?? []).map(({ text }) => text ?? '').join('');

/** What a task's talk was, oldest first. */
export const talk = ({ history = [], status }: TaskJson): string[] =>
  [...history, ...(status.message ? [status.message] : [])].map(({ parts }) => parts[0]!.text);

/** The kinds of a stream's frames: the state of a status update, `artifact`, `task` or `message`. */
export const kinds = (frames: readonly JsonObject[]): string[] =>
  frames.map((frame) => {
    const { statusUpdate } = frame as { statusUpdate?: TaskJson };
    return statusUpdate ? statusUpdate.status.state.replace('TASK_STATE_', '') : Object.keys(frame)[0]!;
  });

/** Expects an error of that reason, on these fields where it is about fields. */
export const refused =
  (reason: string, ...fields: string[]) =>
  ({ refusal }: Reply): void => {
    expect(refusal?.reason).toBe(reason);
    if (fields.length > 0) expect(refusal?.fields).toEqual(fields);
  };

/** Expects a task in that state. */
export const taskState =
  (state: string) =>
  (reply: Reply): void => {
    expect(taskIn(reply).status.state).toBe(`TASK_STATE_${state}`);
  };
