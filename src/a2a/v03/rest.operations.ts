import type { DescMessage, Message } from '@bufbuild/protobuf';
import {
  type AgentCard,
  errorHeaders,
  HTTP_ROUTES,
  type HttpRoute,
  type ListTasksResponse,
  requestFromHttp,
  toJsonRpcError,
  v03,
} from '../../protocol/index.js';
import type { Caller } from '../caller.js';
import type { RestOperation } from '../dialect.js';
import type { Fault } from '../faults.js';
import type { HttpAnswer } from '../http.caller.js';
import { eventProtoJson } from './event.encoding.js';
import { habitsOf } from './sdk.callers.js';

const TYPE = 'application/json';

/** What the SDKs read: the JSON-RPC error as the body, with an HTTP status. */
export function restErrorAnswer({ error, traceId }: Fault, better?: number): HttpAnswer {
  const status = error.kind === 'taskNotCancelable' ? 409 : error.row.http;
  return {
    status: better ?? status,
    type: TYPE,
    headers: Object.entries(errorHeaders(error)),
    body: JSON.stringify(toJsonRpcError(error, traceId)),
  };
}

const COMMON = { version: '0.3', type: TYPE, events: eventProtoJson, error: restErrorAnswer } as const;

/** The card as it is found at the well-known address, in the JSON that 0.3 defines. */
const writeCard = (card: Message) => v03.jsonText(v03.cardForms(card as AgentCard)!.legacy);

function protoText(desc: DescMessage, message: Message, caller: Caller): string {
  const { base64, firstProto } = habitsOf(caller);
  if (base64) v03.encodeFiles(message);
  if (firstProto) v03.firstProto(message);
  return v03.protoJsonText(desc, message);
}

/** ListTasks is no rpc of 0.3, but its HTTP binding names the route. */
const LIST: HttpRoute = HTTP_ROUTES.find(({ operation }) => operation === 'listTasks')!;

const list: RestOperation = {
  ...COMMON,
  operation: LIST.operation,
  method: LIST.method,
  template: `/v1${LIST.template}`,
  path: `/v1${LIST.fastifyPath}`,
  read({ query, ...input }) {
    const { status } = query;
    const spelled = status === 'TASK_STATE_CANCELLED' ? 'TASK_STATE_CANCELED' : status;
    return requestFromHttp(LIST, { ...input, query: { ...query, status: spelled } });
  },
  write(reply, _request, caller) {
    const { tasks, ...page } = reply as ListTasksResponse;
    const { nextPageToken, pageSize, totalSize } = page;
    const texts = tasks.map((task) => protoText(v03.TaskSchema, v03.taskProto(task), caller));
    const rest = JSON.stringify({ nextPageToken, pageSize, totalSize });
    return `{"tasks":[${texts}],${rest.slice(1)}`;
  },
};

/** 0.3 over HTTP+JSON: the ProtoJSON of a2a.v1. */
export const v03RestOperations: readonly RestOperation[] = [
  list,
  ...v03.REST_ROUTES.map((route): RestOperation => {
    const { rpc, method, template, fastifyPath } = route;
    const isCard = rpc.operation === 'getExtendedAgentCard';
    return {
      ...COMMON,
      operation: rpc.operation,
      method,
      template,
      path: fastifyPath,
      orPublicCard: isCard,
      read(input, caller) {
        const request = rpc.read(v03.requestOf(route, input));
        return habitsOf(caller).base64 ? v03.decodeFiles(request) : request;
      },
      write: isCard
        ? writeCard
        : (reply, _request, caller) => protoText(rpc.method.output, rpc.write(reply), caller),
    };
  }),
];
