export type Severity = 'error' | 'warning' | 'info';

export interface ReviewRule {
  readonly id: string;
  readonly severity: Severity;
  /** What is wrong with a line that breaks the rule. */
  readonly text: string;
  readonly breaks: (line: string) => boolean;
}

const LONGEST_LINE = 140;

function rule(id: string, severity: Severity, text: string, ...patterns: RegExp[]): ReviewRule {
  return { id, severity, text, breaks: (line) => patterns.some((pattern) => pattern.test(line)) };
}

export const REVIEW_RULES: readonly ReviewRule[] = [
  rule(
    'secret',
    'error',
    'Looks like a secret; it belongs in a secret store',
    /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/,
    /\b(?:gh[pousr]_\w{36}|xox[abprs]-[\w-]{10,}|glpat-[\w-]{20}|AIza[\w-]{35})/,
    /(?:password|passwd|secret|token|api_?key)['"]?\s*[:=]\s*['"`][^'"`\s$]{8,}['"`]/i,
  ),
  rule('private-key', 'error', 'A private key', /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/),
  rule(
    'conflict-marker',
    'error',
    'A merge conflict that was not resolved',
    /^(?:<{7}|={7}|>{7}|\|{7})(?: |$)/,
  ),
  rule(
    'unverified-tls',
    'error',
    'Switches the check of TLS certificates off',
    /rejectUnauthorized:\s*false|NODE_TLS_REJECT_UNAUTHORIZED|verify\s*=\s*False|InsecureSkipVerify:\s*true/,
  ),
  rule('eval', 'warning', 'Runs text as code', /\beval\(|\bnew Function\(/),
  rule(
    'debug-print',
    'warning',
    'Prints for debugging; use the log',
    /\bconsole\.(?:log|debug|dir)\(|^\s*debugger\b|\bSystem\.out\.print|\bdbg!\(|\bpdb\.set_trace\(|^\s*print\(|\bvar_dump\(/,
  ),
  rule(
    'disabled-test',
    'warning',
    'A test that does not run, or keeps the others from running',
    /\b(?:it|test|describe)\.(?:skip|only|todo)\b|\b(?:xit|xdescribe|fdescribe)\(|@(?:Disabled|Ignore)\b|@pytest\.mark\.skip|\bt\.Skip\(/,
  ),
  rule(
    'wide-catch',
    'warning',
    'Catches everything, or drops what it caught',
    /\bexcept\s*:|\bexcept\s+(?:Base)?Exception\b|\bcatch\s*\(\s*(?:Exception|Throwable)\b|\bcatch\s*(?:\([^)]*\)\s*)?\{\s*\}/,
  ),
  {
    id: 'todo-without-issue',
    severity: 'info',
    text: 'Left to do, without an issue that says so',
    breaks: (line) => /\b(?:TODO|FIXME|XXX)\b/.test(line) && !/#\d+|\b[A-Z]{2,}-\d+|https?:/.test(line),
  },
  {
    id: 'long-line',
    severity: 'info',
    text: `Longer than ${LONGEST_LINE} characters`,
    breaks: (line) => line.length > LONGEST_LINE,
  },
];
