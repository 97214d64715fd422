/** A server with a database of its own for a test file, and a client of it. */
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { type Client, createClient } from '../../src/client/index.ts';
import type { App } from '../../src/server/create-app.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';

export interface TestServer {
  readonly client: Client;
  readonly db: TestDatabase;
  readonly url: string;
  /** For the program. */
  readonly env: { readonly JOBTREE_URL: string };
}

/** To be called at the top of a test file, or of a `describe`. `settings`: those of the server, or what finds them out before it starts. */
export function useServer(
  settings: Record<string, string> | (() => Record<string, string>) = {},
): TestServer {
  const test = {} as { -readonly [key in keyof TestServer]: TestServer[key] };
  let database: TestDatabase | undefined;
  let server: App | undefined;
  beforeAll(async () => {
    database = await createDatabase();
    test.db = database;
    server = await startServer(database.url, typeof settings === 'function' ? settings() : settings);
    test.url = server.url;
    test.client = createClient({ url: server.url });
    test.env = { JOBTREE_URL: server.url };
  });
  afterAll(async () => {
    await test.client?.close();
    await server?.close();
    await database?.drop();
  });
  return test;
}

/** An id that nothing has. */
export const unknownJob = 'Job:01890000-0000-7000-8000-000000000000';

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
