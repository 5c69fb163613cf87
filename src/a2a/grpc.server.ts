import { isIPv6 } from 'node:net';
import type { INestApplication } from '@nestjs/common';
import type { Config } from '../config/index.js';
import { Readiness } from '../health/index.js';
import { GrpcTransport } from './grpc/index.js';

/** Attaches the gRPC binding. It listens after `app.startAllMicroservices()`, on the port that it then tells. */
export function connectGrpc(app: INestApplication, config: Config): GrpcTransport {
  const { host, grpcPort, maxBodyBytes, maxJsonDepth } = config;
  const address = `${isIPv6(host) ? `[${host}]` : host}:${grpcPort}`;
  const transport = new GrpcTransport({ address, maxBytes: maxBodyBytes, maxDepth: maxJsonDepth });
  app.get(Readiness).draining.addEventListener('abort', () => transport.drain(), { once: true });
  app.connectMicroservice({ strategy: transport });
  return transport;
}
