/** Fields whose value never gets into a log, whatever object they are in. */
const SECRET = /authorization|cookie|token|secret|password|passwd|credential|api[-_]?key|private[-_]?key/i;
/** Credentials inside a text: in a URL, or after a scheme. */
const USER_INFO = /(\/\/[^\s/:@]*:)[^\s/@]+@/g;
const SCHEME = /\b(Bearer|Basic)\s+[\w.~+/=-]+/gi;
/** What looks like one wherever it stands: JSON Web Tokens, our API keys, secrets of Standard Webhooks. */
const TOKEN = /\b(ey[\w-]{8,}\.)[\w-]+\.[\w-]*|\b(pk_[0-9a-f]{16}_)[\w-]+|\b(whsec_)[\w+/=-]+/g;

const DEEPEST = 6;
const MOST_ENTRIES = 50;
const LONGEST_TEXT = 4_000;

/** A copy of any value that is safe to log: secrets blanked, errors spelled out, size and depth bounded. */
export function loggable(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return loggableText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'function' || typeof value === 'symbol') return undefined;
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (value instanceof Error) return loggableError(value, depth);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (depth >= DEEPEST) return '[deeper]';
  if (Array.isArray(value)) return value.slice(0, MOST_ENTRIES).map((item) => loggable(item, depth + 1));
  const entries = Object.entries(value).slice(0, MOST_ENTRIES);
  const copy = entries.map(([key, item]) => [
    key,
    SECRET.test(key) ? blank(item) : loggable(item, depth + 1),
  ]);
  return Object.fromEntries(copy);
}

function loggableText(text: string): string {
  const cut = text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
  return cut.replace(USER_INFO, '$1***@').replace(SCHEME, '$1 ***').replace(TOKEN, '$1$2$3***');
}

/** Only what says what happened: a driver's error also carries the statement's parameters, a caller's data. */
function loggableError(error: Error, depth: number): unknown {
  const code = 'code' in error ? error.code : undefined;
  const errors = error instanceof AggregateError ? error.errors : undefined;
  if (depth >= DEEPEST) return error.name;
  return {
    type: error.name,
    message: loggableText(error.message),
    ...(code === undefined ? {} : { code: loggable(code, depth + 1) }),
    stack: loggableText(error.stack ?? ''),
    ...(error.cause === undefined ? {} : { cause: loggable(error.cause, depth + 1) }),
    ...(errors === undefined ? {} : { errors: loggable(errors, depth + 1) }),
  };
}

const blank = (value: unknown) => (value === undefined || value === null || value === '' ? value : '***');
