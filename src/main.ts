import 'reflect-metadata';
import { setLogger } from '@grpc/grpc-js';
import { Logger } from '@nestjs/common';
import { type Config, environment, loadConfig, unknownVariables } from './config/index.js';
import { startService } from './service.js';
import { startBlock } from './start.block.js';
import { startFailure } from './start.failure.js';
import { PinoLogger } from './telemetry/index.js';

/** Closing connections and stopping the database, on top of the time for draining. */
const CLOSING_MS = 10_000;
/** `npm start` passes on a Ctrl-C that the terminal has sent to everyone: the echo is not a second one. */
const ECHO_MS = 500;

let config: Config | undefined;
try {
  config = loadConfig(environment, process.argv.slice(2));
  await run(config);
} catch (error) {
  process.stderr.write(`${startFailure(error, config)}\n`);
  process.exit(1);
}

async function run(config: Config): Promise<void> {
  const logger = new PinoLogger(config);
  Logger.overrideLogger(logger);
  const log = new Logger('main');
  // It tells the console what it also reports to us.
  setLogger({
    error: (text) => log.debug(text),
    info: (text) => log.debug(text),
    debug: (text) => log.debug(text),
  });
  for (const name of unknownVariables(environment)) log.warn(`${name} is not a setting and is ignored`);
  process.on('uncaughtException', (error) => {
    log.fatal({ message: 'An error that nobody caught', cause: error });
    process.exit(1);
  });

  const starting = startService(config, logger);
  onStopSignal(async (signal) => {
    log.log(`Stopping on ${signal}; the same once more stops at once`);
    setTimeout(() => process.exit(1), config.drainMs + CLOSING_MS).unref();
    await (await starting).stop();
    process.exit(0);
  });
  const service = await starting;
  if (config.logFormat === 'pretty') process.stdout.write(startBlock(service));
  else log.log({ message: 'Parley is ready', ...service });
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
}
