import * as nodeModule from 'node:module';
import { join } from 'node:path';
import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { type Config, environment, loadConfig, telemetrySwitches, unknownVariables } from './config/index.js';
import { startBlock } from './start.block.js';
import { PinoLogger, startTelemetry } from './telemetry/index.js';

/** Closing connections and stopping the database, on top of the time for draining. */
const CLOSING_MS = 10_000;
/** `npm start` passes on a Ctrl-C that the terminal has sent to everyone: the echo is not a second one. */
const ECHO_MS = 500;
const ORPHAN_MS = 500;

let config: Config | undefined;
try {
  config = loadConfig(environment, process.argv.slice(2));
  await run(config);
} catch (error) {
  const { startFailure } = await import('./start.failure.js');
  process.stderr.write(`${startFailure(error, config)}\n`);
  process.exit(1);
}

async function run(config: Config): Promise<void> {
  const logger = new PinoLogger(config);
  Logger.overrideLogger(logger);
  const log = new Logger('main');
  for (const name of unknownVariables(environment)) log.warn(`${name} is not a setting and is ignored`);
  process.on('uncaughtException', (error) => {
    log.fatal({ message: 'An error that nobody caught', cause: error });
    process.exit(1);
  });

  onLevelSignal(logger, config);
  // Before the rest is loaded: instrumentations wrap what is loaded after them.
  const telemetry = await startTelemetry(config, telemetrySwitches(config, environment));
  keepCompiled(config);
  const { startService } = await import('./service.js');

  const starting = startService(config, logger);
  onStopSignal(async (signal) => {
    log.log(`Stopping on ${signal}; the same once more stops at once`);
    setTimeout(() => process.exit(1), config.drainMs + CLOSING_MS).unref();
    await (await starting).stop();
    await telemetry.stop();
    process.exit(0);
  });
  const service = await starting;
  if (config.logFormat === 'pretty') process.stdout.write(startBlock(service));
  else log.log({ message: 'Parley is ready', ...service, metricsUrl: telemetry.metricsUrl });
}

/** From Node 22.8 on what was compiled is kept for the next start, which is a sixth shorter then. */
function keepCompiled({ dataDir }: Config): void {
  // It does not throw: without a folder to write to it does nothing.
  const { enableCompileCache } = nodeModule as { enableCompileCache?: (folder: string) => void };
  enableCompileCache?.(join(dataDir, 'compiled'));
}

/** SIGUSR2 turns the log up to `debug`, and back. */
function onLevelSignal(logger: PinoLogger, { logLevel }: Config): void {
  process.on('SIGUSR2', () => {
    logger.level = logger.level === 'debug' ? logLevel : 'debug';
  });
}

function onStopSignal(stop: (signal: NodeJS.Signals) => Promise<void>): void {
  let since: number | undefined;
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, (signal) => {
      if (since === undefined) {
        since = Date.now();
        void stop(signal);
      } else if (Date.now() - since > ECHO_MS) process.exit(1);
    });
  }
  onOrphaned(() => process.emit('SIGTERM', 'SIGTERM'));
}

/** npm ends on SIGTERM without telling what its shell has started: a service that npm started goes with it. */
function onOrphaned(stop: () => void): void {
  if (environment.npm_lifecycle_event !== 'start') return;
  const starter = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === starter) return;
    clearInterval(watch);
    stop();
  }, ORPHAN_MS).unref();
}
