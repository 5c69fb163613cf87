import type { JsonValue } from '@bufbuild/protobuf';
import { Controller, Req, RequestMapping, RequestMethod, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { HTTP_ROUTES, type HttpInput, type HttpRoute, requestFromHttp } from '../../protocol/index.js';
import type { Call } from '../call.js';
import { Dispatcher, isStream } from '../dispatcher.js';
import { type Fault, Faults } from '../faults.js';
import { JsonBody } from '../http.body.js';
import { HttpCaller } from '../http.caller.js';
import { replyText } from '../reply.text.js';
import { OpenStreams, SseSink } from '../streaming/index.js';
import { errorAnswer, REST_TYPE } from './rest.error.js';
import { REST_BASES } from './rest.routes.js';

const ACCEPTED: ReadonlySet<string> = new Set([REST_TYPE, 'application/json']);
const FRAMES = { before: '', after: '', error: (fault: Fault) => errorAnswer(fault).body };

/** The HTTP+JSON binding (specification 11). The handler of each route of the proto is made below. */
@Controller()
export class RestController {
  constructor(
    private readonly dispatcher: Dispatcher,
    private readonly body: JsonBody,
    private readonly streams: OpenStreams,
    private readonly faults: Faults,
  ) {}

  async answer(route: HttpRoute, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const caller = new HttpCaller(request, reply);
    const params = request.params as HttpInput['params'];
    const query = request.query as HttpInput['query'];
    const { operation } = route;
    let call: Call | undefined;
    try {
      const body = this.body.read(request, ACCEPTED);
      const tenant = params.tenant ?? tenantOf(body) ?? caller.query('tenant') ?? '';
      call = await this.dispatcher.admit({
        operation,
        binding: 'HTTP+JSON',
        agent: params.agent,
        tenant,
        caller,
      });
      const message = requestFromHttp(route, { params, query, body });
      const result = await this.dispatcher.perform(call, message);
      if (isStream(result)) {
        await this.streams.deliver(call, result, new SseSink(reply, call, FRAMES));
      } else {
        const text = replyText(operation, message, result);
        caller.answer({ status: 200, type: REST_TYPE, headers: call.reply, body: text });
      }
    } catch (thrown) {
      const place = call ?? { caller, operation, binding: 'HTTP+JSON', agent: params.agent };
      caller.answer(errorAnswer(this.faults.report(thrown, place)));
    }
  }
}

function tenantOf(body: JsonValue | undefined): string | undefined {
  const tenant = typeof body === 'object' && body !== null && 'tenant' in body ? body.tenant : undefined;
  return typeof tenant === 'string' ? tenant : undefined;
}

/** Gives the controller a method for a route, decorated as if it stood in the class. */
function declare(route: HttpRoute, name: string): void {
  const handler = function (this: RestController, request: FastifyRequest, reply: FastifyReply) {
    // Fastify sends HEAD to the handler of GET.
    return request.method === route.method ? this.answer(route, request, reply) : reply.callNotFound();
  };
  const { prototype } = RestController;
  const path = REST_BASES.map((base) => base + route.fastifyPath);
  Object.defineProperty(prototype, name, { value: handler, configurable: true });
  Req()(prototype, name, 0);
  Res()(prototype, name, 1);
  RequestMapping({ path, method: RequestMethod[route.method] })(prototype, name, { value: handler });
}

for (const [index, route] of HTTP_ROUTES.entries()) declare(route, `${route.operation}${index}`);
