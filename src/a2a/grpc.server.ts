import { isIPv6 } from 'node:net';
import { setLogger } from '@grpc/grpc-js';
import { type INestApplication, Logger } from '@nestjs/common';
import type { Config } from '../config/index.js';
import { Readiness } from '../health/index.js';
import { GrpcTransport } from './grpc/index.js';
import { mostValues } from './http.body.js';
import type { TlsFiles } from './tls.files.js';

/** Attaches the gRPC binding. It listens after `app.startAllMicroservices()`, on the port that it then tells. */
export function connectGrpc(app: INestApplication, config: Config, tls?: TlsFiles): GrpcTransport {
  const { host, grpcPort, maxBodyBytes, maxJsonDepth, maxGrpcStreams, grpcReflection: reflection } = config;
  const address = `${isIPv6(host) ? `[${host}]` : host}:${grpcPort}`;
  // It tells the console what it also reports to us.
  const log = new Logger('grpc');
  const debug = (text: string) => log.debug(text);
  setLogger({ error: debug, info: debug, debug });
  const transport = new GrpcTransport({
    address,
    maxBytes: maxBodyBytes,
    maxDepth: maxJsonDepth,
    maxValues: mostValues(config),
    maxStreams: maxGrpcStreams,
    reflection,
    tls,
  });
  app.get(Readiness).watch((ready) => transport.tellHealth(ready));
  app.connectMicroservice({ strategy: transport });
  return transport;
}
