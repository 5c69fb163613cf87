import { DatabaseUnavailable } from '../database/index.js';
import { A2AError } from '../protocol/index.js';

/** The driver's error as the ports': a database that is away is `unavailable`, anything else is a fault. */
export async function available<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof DatabaseUnavailable)
      throw new A2AError('unavailable', { retryAfter: 1, cause: error });
    throw error;
  }
}
