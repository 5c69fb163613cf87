import type { JsonObject } from '@bufbuild/protobuf';
import { Controller, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { A2AError, decodeMessage, excerpt, OPERATIONS, operationByMethod } from '../../protocol/index.js';
import type { Call, Destination } from '../call.js';
import { Dispatcher, isStream } from '../dispatcher.js';
import { type Fault, Faults } from '../faults.js';
import { JsonBody } from '../http.body.js';
import { HttpCaller } from '../http.caller.js';
import { replyText } from '../reply.text.js';
import { OpenStreams, SseSink } from '../streaming/index.js';
import { idText, readEnvelope } from './envelope.js';
import { aroundResult, errorAnswer, errorText, JSON_TYPE } from './response.js';

const PATHS = ['/jsonrpc', '/agents/:agent/jsonrpc'];
const ACCEPTED: ReadonlySet<string> = new Set([JSON_TYPE]);

/** The JSON-RPC binding (specification 9): one address for each agent, POST only. */
@Controller()
export class JsonRpcController {
  constructor(
    private readonly dispatcher: Dispatcher,
    private readonly body: JsonBody,
    private readonly streams: OpenStreams,
    private readonly faults: Faults,
  ) {}

  @Post(PATHS)
  async handle(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const caller = new HttpCaller(request, reply);
    const { agent } = request.params as { agent?: string };
    let id = 'null';
    let call: Call | undefined;
    try {
      const body = this.body.read(request, ACCEPTED);
      id = idText(body);
      const { method, params } = readEnvelope(body);
      const destination: Destination = { binding: 'JSONRPC', agent, tenant: tenantOf(params), caller };
      const operation = operationByMethod(method) ?? this.#unknown(method, destination);
      call = await this.dispatcher.admit({ ...destination, operation });
      const message = decodeMessage(OPERATIONS[operation].input, params);
      const result = await this.dispatcher.perform(call, message);
      const around = aroundResult(id);
      if (isStream(result)) {
        const frames = { ...around, error: (fault: Fault) => errorText(id, fault) };
        await this.streams.deliver(call, result, new SseSink(reply, call, frames));
      } else {
        const text = around.before + replyText(operation, message, result) + around.after;
        caller.answer({ status: 200, type: JSON_TYPE, headers: call.reply, body: text });
      }
    } catch (thrown) {
      const fault = this.faults.report(thrown, call ?? { caller, binding: 'JSONRPC', agent });
      caller.answer(errorAnswer(id, fault));
    }
  }

  /** A 0.3 name is answered by the version rules first: whoever sends one without the header wants 0.3. */
  #unknown(method: string, destination: Destination): never {
    if (method.includes('/')) this.dispatcher.resolve(destination);
    throw new A2AError('methodNotFound', { metadata: { method: excerpt(method) } });
  }
}

const tenantOf = ({ tenant }: JsonObject) => (typeof tenant === 'string' ? tenant : '');
