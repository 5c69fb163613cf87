import type { JsonValue } from '@bufbuild/protobuf';
import { Controller, Req, RequestMapping, RequestMethod, Res } from '@nestjs/common';
import { RouteConstraints } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { HttpInput, StreamEvent } from '../../protocol/index.js';
import type { Call, Destination } from '../call.js';
import type { Caller } from '../caller.js';
import type { RestOperation } from '../dialect.js';
import { Dispatcher, isStream } from '../dispatcher.js';
import { type Fault, Faults } from '../faults.js';
import { JsonBody } from '../http.body.js';
import { HttpCaller } from '../http.caller.js';
import { OpenStreams, type SseFrames, SseSink } from '../streaming/index.js';
import { REST_TYPE } from './rest.error.js';
import { REST_BASES, REST_OPERATIONS } from './rest.routes.js';

const ACCEPTED: ReadonlySet<string> = new Set([REST_TYPE, 'application/json']);

/** The HTTP+JSON binding (specification 11). The handler of each of its routes is made below. */
@Controller()
export class RestController {
  constructor(
    private readonly dispatcher: Dispatcher,
    private readonly body: JsonBody,
    private readonly streams: OpenStreams,
    private readonly faults: Faults,
  ) {}

  async answer(route: RestOperation, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const caller = new HttpCaller(request, reply);
    const params = request.params as HttpInput['params'];
    const query = request.query as HttpInput['query'];
    const { operation, version, type } = route;
    const { agent, version: agentVersion } = params;
    let call: Call | undefined;
    try {
      const body = this.body.read(request, ACCEPTED);
      const tenant = params.tenant ?? tenantOf(body) ?? caller.query('tenant') ?? '';
      const address = { agent, agentVersion, tenant };
      const destination: Destination = { binding: 'HTTP+JSON', versions: [version], ...address, caller };
      const input = { params, query, body };
      const card = route.orPublicCard && this.dispatcher.publicCard(destination);
      if (card) {
        caller.answer({ status: 200, type, headers: [], body: route.write(card, card, caller) });
        return;
      }
      call = await this.dispatcher.admit({ ...destination, operation });
      const message = route.read(input, caller);
      const result = await this.dispatcher.perform(call, message);
      if (isStream(result)) {
        this.streams.deliver(call, result, new SseSink(reply, call, new RestFrames(route, caller)));
        return;
      }
      caller.answer({ status: 200, type, headers: call.reply, body: route.write(result, message, caller) });
    } catch (thrown) {
      const place = call ?? { caller, operation, binding: 'HTTP+JSON', agent };
      caller.answer(route.error(this.faults.report(thrown, place)));
    }
  }
}

class RestFrames implements SseFrames {
  readonly event: (event: StreamEvent) => string;

  constructor(
    private readonly route: RestOperation,
    caller: Caller,
  ) {
    this.event = route.events(caller);
  }

  error(fault: Fault): string {
    return this.route.error(fault).body;
  }
}

function tenantOf(body: JsonValue | undefined): string | undefined {
  const tenant = typeof body === 'object' && body !== null && 'tenant' in body ? body.tenant : undefined;
  return typeof tenant === 'string' ? tenant : undefined;
}

/** Gives the controller a method for a route, decorated as if it stood in the class. */
function declare(route: RestOperation, name: string): void {
  const handler = function (this: RestController, request: FastifyRequest, reply: FastifyReply) {
    // Fastify sends HEAD to the handler of GET.
    return request.method === route.method ? this.answer(route, request, reply) : reply.callNotFound();
  };
  const { prototype } = RestController;
  const path = REST_BASES.map((base) => base + route.path);
  Object.defineProperty(prototype, name, { value: handler, configurable: true });
  Req()(prototype, name, 0);
  Res()(prototype, name, 1);
  const [, verb] = /:(\w+)$/.exec(route.template) ?? [];
  if (verb) RouteConstraints({ verb })(prototype, name, { value: handler });
  RequestMapping({ path, method: RequestMethod[route.method] })(prototype, name, { value: handler });
}

for (const [index, route] of REST_OPERATIONS.entries()) declare(route, `${route.operation}${index}`);
