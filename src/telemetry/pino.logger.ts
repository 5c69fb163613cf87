import { createHash } from 'node:crypto';
import type { LoggerService } from '@nestjs/common';
import { trace } from '@opentelemetry/api';
import pino from 'pino';
import type { Config } from '../config/index.js';
import { prettyLine } from './log.format.js';
import { loggable } from './log.value.js';

export interface LogSink {
  write(line: string): void;
}

/**
 * How Nest tells what it wires up is for debugging, and an error that stops the start is told by whoever
 * started it.
 */
const NEST_CHATTER = new Set([
  'ExceptionHandler',
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'NestMicroservice',
  'RouterExplorer',
  'RoutesResolver',
]);

type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace';

/** Fields that name a caller. */
const CALLERS = ['caller', 'subject', 'actor'] as const;

/**
 * The service's log: one JSON object or one readable line per record, on standard output, with the trace id of
 * the active span. Behind Nest's `Logger`, which everything logs through:
 *
 *     new Logger('push').warn({ message: 'The receiver is gone', taskId, cause: error })
 *
 * The arguments are a text, an error or an object of fields, then more fields, then the context's name. Secrets
 * are blanked by key and by shape. Logging never throws.
 */
export class PinoLogger implements LoggerService {
  readonly #pino: pino.Logger;
  readonly #hashed: boolean;

  constructor(
    config: Pick<Config, 'logLevel' | 'logFormat' | 'logCallers'>,
    sink: LogSink = pino.destination({ fd: 1, sync: true }),
  ) {
    const options: pino.LoggerOptions = {
      level: config.logLevel,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
    };
    this.#hashed = config.logCallers === 'hashed';
    const pretty = { write: (line: string) => sink.write(prettyLine(line)) };
    this.#pino = pino(options, config.logFormat === 'pretty' ? pretty : sink);
  }

  /** The least important level that is logged. Changes at once, and stays until it is changed again. */
  get level(): Config['logLevel'] {
    return this.#pino.level as Config['logLevel'];
  }
  set level(level: Config['logLevel']) {
    this.#pino.level = level;
  }

  fatal(message: unknown, ...more: unknown[]): void {
    this.write('fatal', message, more);
  }
  error(message: unknown, ...more: unknown[]): void {
    this.write('error', message, more);
  }
  warn(message: unknown, ...more: unknown[]): void {
    this.write('warn', message, more);
  }
  log(message: unknown, ...more: unknown[]): void {
    this.write('info', message, more);
  }
  debug(message: unknown, ...more: unknown[]): void {
    this.write('debug', message, more);
  }
  verbose(message: unknown, ...more: unknown[]): void {
    this.write('trace', message, more);
  }

  private write(given: Level, message: unknown, more: unknown[]): void {
    const level = NEST_CHATTER.has(String(more.at(-1))) ? 'debug' : given;
    if (!this.#pino.isLevelEnabled(level)) return;
    try {
      const { msg, ...fields } = record([message, ...more]);
      if (this.#hashed) hashCallers(fields);
      this.#pino[level](fields, msg);
    } catch {
      this.#pino[level]('A log record could not be written');
    }
  }
}

/** The same caller has the same hash, so that its calls can be followed without its name. */
function hashCallers(fields: Record<string, unknown>): void {
  for (const name of CALLERS) {
    const value = fields[name];
    if (typeof value === 'string')
      fields[name] = createHash('sha256').update(value).digest('hex').slice(0, 16);
  }
}

/** Folds Nest's loose arguments into one record. */
function record(values: unknown[]): { msg?: string; [field: string]: unknown } {
  const context = values.length > 1 && typeof values.at(-1) === 'string' ? { context: values.pop() } : {};
  const traceId = trace.getActiveSpan()?.spanContext().traceId;
  const fields: Record<string, unknown> = {};
  const texts: string[] = [];
  for (const value of values) {
    if (value instanceof Error) fields.error = loggable(value);
    else if (typeof value === 'string' && /\n\s+at /.test(value)) fields.stack = loggable(value);
    else if (typeof value === 'object' && value !== null) Object.assign(fields, loggable(value));
    else if (value !== undefined) texts.push(String(loggable(value)));
  }
  const { message, ...rest } = fields;
  if (message !== undefined) texts.unshift(String(message));
  const error = fields.error as { message: string } | undefined;
  const msg = texts.join(' ') || error?.message;
  return { ...context, ...(traceId ? { traceId } : {}), ...rest, msg };
}
