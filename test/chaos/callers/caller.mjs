import { GrpcCaller } from './grpc.caller.mjs';
import { JsonRpcCaller } from './jsonrpc.caller.mjs';
import { RestCaller } from './rest.caller.mjs';

/**
 * A client of one replica on one binding. Requests and replies are ProtoJSON objects on all of them; what fails
 * is a `CallFailure`.
 * @typedef {object} Caller
 * @property {string} binding
 * @property {(operation: 'send' | 'get' | 'list' | 'cancel', request: object) => Promise<any>} call
 * @property {(operation: 'stream' | 'subscribe', request: object, lastEventId?: number) =>
 *   AsyncGenerator<{seq?: number, event: any}>} open gRPC tells no event numbers but that of the last one, in the
 *   failure of a stream that the service ended before its task
 * @property {() => void} close
 */

const CALLERS = { JSONRPC: JsonRpcCaller, 'HTTP+JSON': RestCaller, GRPC: GrpcCaller };

/**
 * One caller for each A2A 1.0 interface that a replica's card lists.
 * @param {string} base where the card is
 * @param {{headers: Record<string, string>, timeoutMs: number, silenceMs: number}} options
 * @returns {Promise<Caller[]>}
 */
export async function callersOf(base, options) {
  const isSecure = base.startsWith('https:');
  const response = await fetch(`${base}/.well-known/agent-card.json`, { headers: options.headers });
  if (!response.ok) throw new Error(`no agent card at ${base}: HTTP ${response.status}`);
  const { supportedInterfaces } = await response.json();
  return supportedInterfaces
    .filter(({ protocolVersion, protocolBinding }) => protocolVersion === '1.0' && CALLERS[protocolBinding])
    .map(({ protocolBinding, url }) => new CALLERS[protocolBinding]({ ...options, url, isSecure }));
}
