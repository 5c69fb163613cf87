import type { Caller } from '../caller.js';

/** What the SDKs of 0.3 for some languages do their own way. Their programs cannot say so. */
export interface Habits {
  /** Has base64 text where the proto of 0.3 has the bytes of a file. */
  readonly base64: boolean;
  /** Reads ProtoJSON by the first proto of 0.3, and refuses fields that came later. */
  readonly firstProto: boolean;
}

const NONE: Habits = { base64: false, firstProto: false };
const OLDEST: Habits = { base64: true, firstProto: true };
const BASE64: Habits = { base64: true, firstProto: false };

export const HABITS = [NONE, BASE64, OLDEST] as const;

/** Told by how the user agent begins: no bytes tell by themselves whether they are text, `test` is base64, too. */
export function habitsOf(caller: Caller): Habits {
  const agent = caller.header('user-agent') ?? '';
  if (/^(grpc-python|grpc-go|grpc-java|python-httpx)\b/.test(agent)) return BASE64;
  return /^Java-http-client\b/.test(agent) ? OLDEST : NONE;
}
