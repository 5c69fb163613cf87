/** A line as pino writes it. */
interface LogRecord {
  readonly time: string;
  readonly level: string;
  readonly context?: string;
  readonly msg?: string;
  readonly [field: string]: unknown;
}

/** One log record as a person reads it: one line, then the stack of its error if it has one. */
export function prettyLine(json: string): string {
  const { time, level, context, msg, ...fields } = JSON.parse(json) as LogRecord;
  const head = [
    time.slice(11, 23),
    level.toUpperCase().padEnd(5),
    context && `[${context}]`,
    msg && printable(msg),
  ];
  const tail = Object.entries(fields).map(([name, value]) => `${name}=${short(value)}`);
  const frames = Object.values(fields).flatMap(framesOf);
  return `${[...head, ...tail].filter(Boolean).join(' ')}\n${frames.map((frame) => `${frame}\n`).join('')}`;
}

function short(value: unknown): string {
  if (!isError(value)) return JSON.stringify(value);
  const cause = isError(value.cause) ? ` (cause: ${short(value.cause)})` : '';
  return `${value.type}: ${printable(value.message)}${cause}`;
}

function framesOf(value: unknown): string[] {
  if (!isError(value)) return [];
  const frames = value.stack.split('\n').filter((line) => line.startsWith('    at '));
  return [...frames, ...framesOf(value.cause)];
}

interface ErrorRecord {
  readonly type: string;
  readonly message: string;
  readonly stack: string;
  readonly cause?: unknown;
}

function isError(value: unknown): value is ErrorRecord {
  return (
    typeof value === 'object' && value !== null && 'stack' in value && 'type' in value && 'message' in value
  );
}

/** Control characters spelled out, so that no text of a caller can fake a line or move the cursor. */
function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, (character) =>
    JSON.stringify(character)
      .slice(1, -1)
      .replace(/^[\x7f-\x9f]$/, '?'),
  );
}
