/** Postgres cannot be reached or has no room right now. Trying again later may help. */
export class DatabaseUnavailable extends Error {
  override name = 'DatabaseUnavailable';

  constructor(cause: unknown) {
    super('The database cannot be reached', { cause });
  }
}

const NETWORK = /^(ECONN|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE|EHOST|ENET)/;
/**
 * SQLSTATE of lost connections, shutdown and start-up, full servers, a cancelled statement (the time limit), and
 * of writing to a server that has become a standby.
 */
const SQLSTATE = /^(08...|57P0[1-4]|53...|57014|25006)$/;
/** What pg says without a code. */
const DRIVER =
  /^(timeout exceeded when trying to connect|Connection terminated|Query read timeout|Client (was closed|has encountered)|Cannot use a pool after)/;

/** A {@link DatabaseUnavailable} for every error that says so in its own way; any other error as it is. */
export function databaseError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof DatabaseUnavailable) return error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const unavailable = NETWORK.test(code) || SQLSTATE.test(code) || DRIVER.test(error.message);
  return unavailable ? new DatabaseUnavailable(error) : error;
}
