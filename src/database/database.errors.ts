/** Postgres cannot be reached or has no room right now. Trying again later may help. */
export class DatabaseUnavailable extends Error {
  override name = 'DatabaseUnavailable';

  constructor(cause: unknown, message = 'The database cannot be reached') {
    super(message, { cause });
  }
}

/** Postgres answers and takes no writes: its disk is full, or it has become a standby. */
export class WritesRefused extends DatabaseUnavailable {
  override name = 'WritesRefused';

  constructor(cause: unknown) {
    super(cause, 'The database takes no writes');
  }
}

const NETWORK = /^(ECONN|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE|EHOST|ENET)/;
/** SQLSTATE of lost connections, shutdown and start-up, full servers, and a cancelled statement (the time limit). */
const SQLSTATE = /^(08...|57P0[1-4]|53...|57014)$/;
/** SQLSTATE of a full disk, and of a write in a read-only transaction: there are no others on a standby. */
const REFUSAL = /^(53100|25006)$/;
/** What pg says without a code. */
const DRIVER =
  /^(timeout exceeded when trying to connect|Connection terminated|Query read timeout|Client (was closed|has encountered)|Cannot use a pool after)/;

/** A {@link DatabaseUnavailable} for every error that says so in its own way; any other error as it is. */
export function databaseError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof DatabaseUnavailable) return error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (REFUSAL.test(code)) return new WritesRefused(error);
  const unavailable = NETWORK.test(code) || SQLSTATE.test(code) || DRIVER.test(error.message);
  return unavailable ? new DatabaseUnavailable(error) : error;
}
