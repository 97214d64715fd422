/** One Postgres for the whole run, with a migrated template; each test file gets a copy of it (`createDatabase`). */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { migrate } from '../../src/db/migrate.ts';
import { startEmbeddedPostgres } from '../../src/embedded/start.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The server's URL, with the database `template`. */
    postgresUrl: string;
  }
}

/** A test server need not survive a power cut. */
const settings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '300',
  log_lock_waits: 'on',
};

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env.TEST_DATABASE_URL;
  const server = given === undefined ? await startTemporary() : { url: given, stop: async () => {} };
  const url = new URL(server.url);
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  await admin.query('drop database if exists jobtree_template');
  await admin.query('create database jobtree_template');
  url.pathname = '/jobtree_template';
  await migrate({ connectionString: url.href });
  project.provide('postgresUrl', server.url);
  return async () => {
    await admin.query('drop database jobtree_template');
    await admin.end();
    await server.stop();
  };
}

async function startTemporary(): Promise<{ url: string; stop: () => Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'jobtree-test-'));
  const server = await startEmbeddedPostgres({ dataDirectory: directory, settings });
  return {
    url: server.url,
    stop: async () => {
      await server.stop();
      // The server retries a deadlock, which would hide it; no operation may cause one.
      const log = await readFile(join(server.dataDirectory, 'postgres.log'), 'utf8');
      const deadlocks = log.match(/deadlock detected[\s\S]{0,2000}/g) ?? [];
      await rm(directory, { recursive: true, force: true });
      await rm(server.dataDirectory, { recursive: true, force: true });
      if (deadlocks.length > 0)
        throw new Error(`Postgres saw ${deadlocks.length} deadlocks: ${deadlocks[0]}`);
    },
  };
}
