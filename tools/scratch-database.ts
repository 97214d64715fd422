// A database for one question, to be dropped after it.

import { randomUUID } from 'node:crypto';
import pg from 'pg';

export interface ScratchDatabase {
  connectionString: string;
  /** Ends what is still connected to it. */
  drop(): Promise<void>;
}

/** `connectionString` names any database of the server, for a role that may create more. */
export async function createScratchDatabase(connectionString: string): Promise<ScratchDatabase> {
  const name = `jobtree_scratch_${randomUUID()}`;
  const url = new URL(connectionString);
  url.pathname = name;
  await administer(connectionString, `create database "${name}" template template0`);
  return {
    connectionString: url.href,
    drop: () => administer(connectionString, `drop database "${name}" with (force)`),
  };
}

async function administer(connectionString: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}
