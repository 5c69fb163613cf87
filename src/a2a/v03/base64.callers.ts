import type { Caller } from '../caller.js';

/**
 * SDKs of 0.3 that have base64 text where the proto of 0.3 has the bytes of a file, by how their user agent begins.
 * Their programs cannot say so, and no bytes tell by themselves whether they are text: `test` is base64, too.
 */
const USER_AGENTS = /^(grpc-python|grpc-go|grpc-java|python-httpx)\b/;

export const speaksBase64 = (caller: Caller): boolean => USER_AGENTS.test(caller.header('user-agent') ?? '');
