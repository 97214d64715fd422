/** A database for one question, to be dropped after it. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';

export interface ScratchDatabase {
  readonly url: string;
  /** Ends what is still connected to it. */
  drop(): Promise<void>;
}

/** `url` names any database of the server, for a role that may create more. */
export async function createScratchDatabase(url: string): Promise<ScratchDatabase> {
  const name = `jobtree_scratch_${randomUUID()}`;
  const own = new URL(url);
  own.pathname = name;
  await administer(url, `create database "${name}" template template0`);
  return {
    url: own.href,
    drop: () => administer(url, `drop database "${name}" with (force)`),
  };
}

async function administer(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}
