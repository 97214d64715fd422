/** What the commands that serve share: the database that they use, and the server on it. */
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { startEmbeddedPostgres } from '../embedded/start.ts';
import { type App, createApp } from '../server/create-app.ts';

export interface UsedDatabase {
  readonly url: string;
  /** For people, without a password. */
  readonly description: string;
  stop(): Promise<void>;
}

/** The configured Postgres, or the embedded one. */
export async function openDatabase(config: Config): Promise<UsedDatabase> {
  if (config.databaseUrl !== undefined) {
    return { url: config.databaseUrl, description: nameOf(config.databaseUrl), stop: async () => {} };
  }
  const { url, dataDirectory, started, stop } = await startEmbeddedPostgres({ dataDirectory: config.dataDirectory });
  const shared = started === 'attached' ? ', shared with the process that started it' : '';
  return { url, description: `embedded, data in ${dataDirectory}${shared}`, stop };
}

function nameOf(databaseUrl: string): string {
  if (!URL.canParse(databaseUrl)) return 'as in DATABASE_URL';
  const { host, pathname } = new URL(databaseUrl);
  return `${host}${pathname}`;
}

/** Starts the server; if it can't, the database is stopped again. */
export async function serve(config: Config, database: UsedDatabase, logger: Logger): Promise<App> {
  try {
    return await createApp({ config, databaseUrl: database.url, logger });
  } catch (error) {
    await database.stop();
    throw error;
  }
}
