import type { AddressInfo } from 'node:net';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { configureHttp, connectGrpc, httpAdapter, TlsFiles } from './a2a/index.js';
import { AgentRegistry, Callbacks } from './agents/index.js';
import { AppModule } from './app.module.js';
import { CardService } from './cards/index.js';
import { Config, publicGrpc, publicUrl } from './config/index.js';
import { EmbeddedPostgres } from './database/index.js';
import { Readiness } from './health/index.js';
import type { Binding, ProtocolVersion } from './protocol/index.js';
import { localSecrets, pushIsOn, secretFile } from './push/index.js';
import type { PinoLogger } from './telemetry/index.js';

/** What cards list, the first one preferred. */
const BINDINGS: readonly Binding[] = ['JSONRPC', 'HTTP+JSON', 'GRPC'];
const VERSIONS: readonly ProtocolVersion[] = ['1.0', '0.3'];

/** A service that answers. */
export interface Service {
  /** Base URL of HTTP, where it listens. */
  readonly httpUrl: string;
  /** `host:port` of gRPC, where it listens. */
  readonly grpcAddress: string;
  /** Ids of the agents, the default one first. */
  readonly agents: readonly string[];
  /** Where the data lies, in words and without a password. */
  readonly data: string;
  /** Where the secret lies that pushes are signed with, in words. */
  readonly push: string;
  /** Stops being ready, lets running work end, closes everything. Never rejects. */
  stop(): Promise<void>;
}

/** Starts everything step by step; whatever fails is thrown after what had been started is undone. */
export async function startService(given: Config, logger: PinoLogger): Promise<Service> {
  const undo: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) {
      await step().catch((error) => logger.error(error, 'stop'));
    }
  };
  try {
    const embedded = given.databaseUrl ? undefined : await EmbeddedPostgres.start(given.dataDir);
    if (embedded) undo.push(() => embedded.stop());
    const config = embedded
      ? new Config({ ...given, ...localSecrets(given), databaseUrl: embedded.url })
      : given;
    const tls = TlsFiles.load(config);
    if (tls) undo.push(async () => tls.stop());
    const app = await createApplication(config, tls, logger);
    undo.push(() => app.close());
    const addresses = await listen(app, config, tls);
    undo.push(async () => app.get(Readiness).drain());
    const data = embedded ? `${embedded.folder} (embedded Postgres)` : `Postgres at ${place(config)}`;
    const agents = agentIds(app.get(AgentRegistry));
    return { ...addresses, agents, data, push: pushSecret(given, embedded !== undefined), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function createApplication(
  config: Config,
  tls: TlsFiles | undefined,
  logger: PinoLogger,
): Promise<NestFastifyApplication> {
  const options = { logger, abortOnError: false, bodyParser: false };
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.with(config, logger),
    httpAdapter(config, tls),
    options,
  );
  configureHttp(app, config);
  return app;
}

/** gRPC first, then HTTP, then the cards, which say where both are. */
async function listen(app: NestFastifyApplication, config: Config, tls: TlsFiles | undefined) {
  const grpc = connectGrpc(app, config, tls);
  await app.startAllMicroservices();
  await app.listen(config.httpPort, config.host);
  const { port } = app.getHttpServer().address() as AddressInfo;
  await app.get(CardService).publish({
    interfaces: VERSIONS.flatMap((version) => BINDINGS.map((binding) => ({ binding, version }))),
    url: publicUrl(config, port),
    grpc: publicGrpc(config, grpc.port),
    pushNotifications: pushIsOn(config),
  });
  app.get(Callbacks).listenAt(publicUrl(config, port));
  const listener = { ...config, publicUrl: undefined, publicGrpc: undefined };
  return { httpUrl: publicUrl(listener, port), grpcAddress: publicGrpc(listener, grpc.port) };
}

function agentIds(agents: AgentRegistry): string[] {
  const others = agents.list().filter((agent) => agent !== agents.default);
  return [agents.default, ...others].map(({ id }) => id);
}

/** Host and database, without user and password. */
function place({ databaseUrl = '' }: Config): string {
  const { host, pathname } = new URL(databaseUrl);
  return host + pathname;
}

/** Where receivers of pushes get what they verify with. */
function pushSecret(given: Config, embedded: boolean): string {
  if (given.pushSecrets.length > 0) return 'signed with the configured secrets';
  if (embedded) return `signed with the secret in ${secretFile(given)}`;
  return given.pushUnsigned ? 'on, not signed' : 'off, no secret is configured';
}
