/** A few connections to the database, for commands that work on it themselves. */
import type { Config } from '../config/config.ts';
import { Database } from '../db/database.ts';

export async function withQueries<T>(
  config: Config,
  url: string,
  use: (database: Database) => Promise<T>,
): Promise<T> {
  const database = new Database({
    url,
    poolSize: 2,
    timeoutMs: config.databaseTimeoutMs,
    preparedStatements: config.preparedStatements,
    pooled: config.directDatabaseUrl !== undefined,
    onIdleError: () => {},
  });
  try {
    await database.open(config.startTimeoutMs);
    return await use(database);
  } finally {
    await database.close();
  }
}
