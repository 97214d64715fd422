/** A migrated database of a test file's own, dropped when the file is done: with FORCE off, so that a leaked connection fails. */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { Database } from '../../src/db/database.ts';

export interface TestDatabase {
  readonly url: string;
  /** Runs one statement. */
  query<Row extends object = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  /** A session of its own, to hold locks with. Closed by the test. */
  connect(): Promise<pg.Client>;
  /** As the server uses it. Closed by the test. */
  open(poolSize?: number): Database;
  drop(): Promise<void>;
}

/** Has the session hear the hints of a topic. */
export async function listenTo(topic: 'progress' | 'work', session: pg.Client): Promise<void> {
  const { rows } = await session.query('select secret from jobtree.hint_secret');
  await session.query(`listen ${pg.escapeIdentifier(`jobtree_${topic}_${rows[0].secret}`)}`);
}

export async function createDatabase(): Promise<TestDatabase> {
  const serverUrl = inject('postgresUrl');
  const name = `test_${randomBytes(6).toString('hex')}`;
  const admin = async (text: string) => {
    const client = new pg.Client({ connectionString: serverUrl });
    await client.connect();
    try {
      await client.query(text);
    } finally {
      await client.end();
    }
  };
  await admin(`create database ${name} template jobtree_template`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  const pool = new pg.Pool({ connectionString: url.href, max: 4 });
  return {
    url: url.href,
    query: async (text, values) => (await pool.query(text, values)).rows,
    connect: async () => {
      const client = new pg.Client({ connectionString: url.href });
      await client.connect();
      return client;
    },
    open: (poolSize = 10) =>
      new Database({
        url: url.href,
        poolSize,
        timeoutMs: 60_000,
        onIdleError: (error) => {
          throw error;
        },
      }),
    drop: async () => {
      await pool.end();
      const leaked = await dropWhenFree(admin, name);
      if (leaked) throw new Error(`The test left connections to ${name} behind.`);
    },
  };
}

/** Postgres needs a moment to notice that a client has gone; what is still there after that was left behind. */
async function dropWhenFree(admin: (text: string) => Promise<void>, name: string): Promise<boolean> {
  for (let attempt = 0; attempt < 50; attempt++) {
    try {
      await admin(`drop database ${name}`);
      return false;
    } catch (error) {
      if ((error as { code?: string }).code !== '55006') throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  await admin(`drop database ${name} with (force)`);
  return true;
}
