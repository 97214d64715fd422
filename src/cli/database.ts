/** The database of the commands that serve: the configured Postgres, or the embedded one. */
import type { Config } from '../config/config.ts';
import { eachHost } from '../config/postgres-url.ts';
import { startEmbeddedPostgres } from '../embedded/start.ts';

export interface UsedDatabase {
  readonly url: string;
  /** For people, without a password. */
  readonly description: string;
  /** Whether it is there for as long as this process uses it. */
  readonly stopsWithUs: boolean;
  /** The folder of an embedded one that did not exist before. */
  readonly created?: string;
  stop(): Promise<void>;
}

/** With `create: false` an embedded one must exist. */
export async function openDatabase(config: Config, { create = true } = {}): Promise<UsedDatabase> {
  if (config.databaseUrl !== undefined) {
    const description = nameOf(config.databaseUrl);
    return { url: config.databaseUrl, description, stopsWithUs: false, stop: async () => {} };
  }
  const { url, dataDirectory, started, stop } = await startEmbeddedPostgres({
    dataDirectory: config.dataDirectory,
    create,
  });
  const shared = started === 'attached' ? ', shared with the process that started it' : '';
  return {
    url,
    description: `embedded, data in ${dataDirectory}${shared}`,
    stopsWithUs: started !== 'attached',
    ...(started === 'fresh' && { created: dataDirectory }),
    stop,
  };
}

function nameOf(databaseUrl: string): string {
  const urls = eachHost(databaseUrl);
  if (!urls.every((url) => URL.canParse(url))) return 'as in DATABASE_URL';
  return `${urls.map((url) => new URL(url).host)}${new URL(urls[0] as string).pathname}`;
}
