import type { JsonObject } from '@bufbuild/protobuf';
import { Controller, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  A2AError,
  excerpt,
  type OperationName,
  operationByMethod,
  type ProtocolVersion,
  type StreamEvent,
  versionAsked,
} from '../../protocol/index.js';
import type { Call, Destination } from '../call.js';
import type { JsonRpcDialect } from '../dialect.js';
import { Dispatcher, isStream } from '../dispatcher.js';
import { type Fault, Faults } from '../faults.js';
import { JsonBody } from '../http.body.js';
import { HttpCaller } from '../http.caller.js';
import { OpenStreams, type SseFrames, SseSink } from '../streaming/index.js';
import { v03JsonRpc } from '../v03/index.js';
import { idText, readEnvelope } from './envelope.js';
import { jsonRpc } from './jsonrpc.dialect.js';
import { errorAnswer, errorText, JSON_TYPE, resultText } from './response.js';

const PATHS = ['/jsonrpc', '/agents/:agent/jsonrpc', '/agents/:agent/versions/:version/jsonrpc'];
const ACCEPTED: ReadonlySet<string> = new Set([JSON_TYPE]);
const VERSIONS: readonly ProtocolVersion[] = ['1.0', '0.3'];

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
    const { agent, version: agentVersion } = request.params as { agent?: string; version?: string };
    const dialect = versionAsked(caller) === '0.3' ? v03JsonRpc : jsonRpc;
    let id = 'null';
    let operation: OperationName | undefined;
    let call: Call | undefined;
    try {
      const body = this.body.read(request, ACCEPTED);
      id = idText(body);
      const { method: name, params } = readEnvelope(body);
      const tenant = tenantOf(params);
      const address = { agent, agentVersion, tenant };
      const destination: Destination = { binding: 'JSONRPC', versions: VERSIONS, ...address, caller };
      const method = dialect.method(name, params) ?? (await this.#unknown(name, destination));
      operation = method.operation;
      call = await this.dispatcher.admit({ ...destination, operation });
      const message = method.read(params);
      const result = await this.dispatcher.perform(call, message);
      if (isStream(result)) {
        this.streams.deliver(call, result, new SseSink(reply, call, new ResponseFrames(dialect, id)));
        return;
      }
      const text = resultText(id, method.write(result, message));
      caller.answer({ status: 200, type: JSON_TYPE, headers: call.reply, body: text });
    } catch (thrown) {
      const fault = this.faults.report(thrown, call ?? { caller, operation, binding: 'JSONRPC', agent });
      caller.answer(dialect.refusal(fault, operation, (shown) => errorAnswer(id, shown)));
    }
  }

  /**
   * The version rules answer first: whoever sends no header asks for 0.3, and if that is served, a method of
   * 1.0 shows that the header was forgotten.
   */
  async #unknown(method: string, destination: Destination): Promise<never> {
    const { version } = await this.dispatcher.resolve(destination);
    if (version === '0.3' && operationByMethod(method)) {
      throw new A2AError('versionNotSupported', {
        message: `${method} is a method of A2A 1.0; send the header A2A-Version: 1.0 (without it a call counts as 0.3)`,
        metadata: { requested: version, supported: '1.0', supportedVersions: '1.0' },
      });
    }
    throw new A2AError('methodNotFound', { metadata: { method: excerpt(method) } });
  }
}

/** A stream is a row of responses to the same request. */
class ResponseFrames implements SseFrames {
  constructor(
    private readonly dialect: JsonRpcDialect,
    private readonly id: string,
  ) {}

  event(event: StreamEvent): string {
    return resultText(this.id, this.dialect.event(event));
  }

  error(fault: Fault): string {
    return errorText(this.id, fault);
  }
}

const tenantOf = ({ tenant }: JsonObject) => (typeof tenant === 'string' ? tenant : '');
