/**
 * One Postgres for the whole run (the embedded one; TEST_POSTGRES_PROGRAMS names the folder of another one's programs, TEST_DATABASE_URL one that
 * runs), with a migrated template, of which each test file gets a copy (`createDatabase`); and one
 * Redis, where there is one.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { migrate } from '../../src/db/migrate.ts';
import { startEmbeddedPostgres } from '../../src/embedded/start.ts';
import { startInstalledPostgres } from './postgres-programs.ts';
import { findRedis, installRedis, startRedis } from './redis.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The server's URL, with the database `template`. */
    postgresUrl: string;
    /** The Redis of the run; undefined if its tests are skipped. */
    redisUrl: string | undefined;
    /** Whether tests can start Redis servers of their own. */
    redisProgram: boolean;
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
  // Before Postgres, which would be left behind if this fails.
  const redis = await provideRedis();
  project.provide('redisUrl', redis.url);
  project.provide('redisProgram', findRedis() !== undefined);
  const server = await providePostgres();
  const url = new URL(server.url);
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  const { rows } = await admin.query('show server_version');
  console.log(`The tests run on Postgres ${rows[0].server_version}.`);
  await admin.query('drop database if exists jobtree_template');
  await admin.query('create database jobtree_template');
  url.pathname = '/jobtree_template';
  await migrate({ url: url.href });
  project.provide('postgresUrl', server.url);
  return async () => {
    await admin.query('drop database jobtree_template');
    await admin.end();
    await server.stop();
    await redis.stop();
  };
}

/** TEST_REDIS_URL, a server from the PATH, or one that is installed first. Without any the tests that need it are skipped, but never in CI. */
async function provideRedis(): Promise<{ url: string | undefined; stop: () => Promise<void> }> {
  const given = process.env.TEST_REDIS_URL;
  if (given !== undefined) return { url: given, stop: async () => {} };
  if (findRedis() === undefined) installRedis();
  if (findRedis() !== undefined) return startRedis();
  const advice = 'install redis-server (or Valkey), or name a running one in TEST_REDIS_URL';
  if (process.env.CI === 'true') throw new Error(`The tests need Redis: ${advice}.`);
  console.log(`Tests with Redis are skipped: ${advice}.`);
  return { url: undefined, stop: async () => {} };
}

interface Server {
  readonly url: string;
  stop(): Promise<void>;
}

function providePostgres(): Promise<Server> {
  const { TEST_DATABASE_URL: given, TEST_POSTGRES_PROGRAMS: programs } = process.env;
  if (given !== undefined) return Promise.resolve({ url: given, stop: async () => {} });
  return programs === undefined ? startEmbedded() : startInstalled(programs);
}

async function startEmbedded(): Promise<Server> {
  const directory = await mkdtemp(join(tmpdir(), 'jobtree-test-'));
  const server = await startEmbeddedPostgres({ dataDirectory: directory, settings });
  return {
    url: server.url,
    stop: async () => {
      await server.stop();
      const log = await readFile(join(server.dataDirectory, 'postgres.log'), 'utf8');
      await rm(directory, { recursive: true, force: true });
      await rm(server.dataDirectory, { recursive: true, force: true });
      refuseDeadlocks(log);
    },
  };
}

async function startInstalled(programs: string): Promise<Server> {
  const server = await startInstalledPostgres(programs, settings);
  return {
    url: server.url('postgres'),
    stop: async () => {
      await server.stop();
      refuseDeadlocks(server.log());
    },
  };
}

/** The server retries a deadlock, which would hide it; no operation may cause one. */
function refuseDeadlocks(log: string): void {
  const deadlocks = log.match(/deadlock detected[\s\S]{0,2000}/g) ?? [];
  if (deadlocks.length > 0) throw new Error(`Postgres saw ${deadlocks.length} deadlocks: ${deadlocks[0]}`);
}
