import { Config } from './config/index.js';
import { EmbeddedPostgres } from './database/index.js';

/** Runs the work on the configured database, or on the embedded one, which is started where it does not run. */
export async function withDatabase<T>(
  given: Config,
  work: (config: Config, url: string) => Promise<T>,
): Promise<T> {
  if (given.databaseUrl) return work(given, given.databaseUrl);
  const embedded = await EmbeddedPostgres.start(given.dataDir);
  try {
    return await work(new Config({ ...given, databaseUrl: embedded.url }), embedded.url);
  } finally {
    await embedded.stop();
  }
}
