/** A database and a server on it for the tests of a file: made before them, and gone after them. */
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { type Client, createClient } from '../../src/client/index.ts';
import type { AppOptions } from '../../src/server/app-options.ts';
import type { App } from '../../src/server/create-app.ts';
import { type Answer, request } from './api.ts';
import { createDatabase, type TestDatabase } from './database.ts';
import { bearer, makeKey } from './keys.ts';
import { late } from './late.ts';
import { startServer } from './server.ts';

export interface TestServer {
  readonly db: TestDatabase;
  readonly app: App;
  readonly client: Client;
  readonly url: string;
  /** For the program. */
  readonly env: { readonly JOBTREE_URL: string };
  /** Sends an operation with a key. */
  readonly ask: (key: string, query: string, variables?: Record<string, unknown>) => Promise<Answer>;
}

/** An id that nothing has. */
export const unknownJob = 'Job:01890000-0000-7000-8000-000000000000';

/** To be called at the top of a test file, or of a `describe`. */
export function useDatabase(): TestDatabase {
  let database: TestDatabase | undefined;
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database?.drop());
  return late(() => database as TestDatabase);
}

/** The same, with a server. `settings`: those of the server, or what finds them out before it starts. */
export function useServer(
  settings: Record<string, string> | (() => Record<string, string>) = {},
  options: Pick<AppOptions, 'lookUp' | 'times'> = {},
): TestServer {
  const db = useDatabase();
  let server: App | undefined;
  let client: Client | undefined;
  beforeAll(async () => {
    server = await startServer(db.url, typeof settings === 'function' ? settings() : settings, options);
    client = createClient({ url: server.url });
  });
  afterAll(async () => {
    await client?.close();
    await server?.close();
  });
  const app = late(() => server as App);
  return {
    db,
    app,
    client: late(() => client as Client),
    get url() {
      return app.url;
    },
    get env() {
      return { JOBTREE_URL: app.url };
    },
    ask: (key, query, variables) => request(app.url, query, variables, bearer(key)),
  };
}

/** A server that asks for keys, with a client that may do everything, for one test. */
export async function startWithKeys(): Promise<Pick<TestServer, 'client' | 'db' | 'url'>> {
  const db = await createDatabase();
  onTestFinished(() => db.drop());
  const { url, close } = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
  onTestFinished(close);
  const client = createClient({ url, token: (await makeKey(db, ['admin'])).key });
  onTestFinished(() => client.close());
  return { client, db, url };
}
