/** A separate Postgres with default durability, with a database for each contender. */
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../dist/embedded/start.js';
import { startInstalledPostgres } from '../../test/support/postgres-programs.ts';
import { atEnd } from './closers.ts';

/**
 * More room for log and buffers than by default, so that no checkpoint hits one run and spares the next. Commit times are kept,
 * since the latency of events is measured from them.
 */
const settings = {
  shared_buffers: '256MB',
  max_wal_size: '8GB',
  checkpoint_timeout: '30min',
  track_commit_timestamp: 'on',
};

/** Distinguishes these connections from those that are measured. */
export const applicationName = 'jobtree-bench';

export interface Postgres {
  /** The main process of the server, the parent of all others. */
  readonly pid: number;
  readonly version: string;
  readonly directory: string;
  readonly settings: Readonly<Record<string, string>>;
  /** How many bytes of write-ahead log have been written so far. */
  walBytes(): Promise<number>;
  createDatabase(name: string): Promise<Database>;
}

export interface Database {
  readonly url: string;
  readonly pool: pg.Pool;
  /** Writes earlier changes to disk, so that they cost the next run nothing, and updates the planner's statistics. */
  settle(): Promise<void>;
  drop(): Promise<void>;
}

/** @param programs as in the option `--postgres` */
export async function startPostgres(programs?: string): Promise<Postgres> {
  const directory = await mkdtemp(join(tmpdir(), 'jobtree-bench-'));
  atEnd(() => rm(directory, { recursive: true, force: true }));
  // Postgres does not run as root: started by root, it runs under another account, which must be able to reach this directory.
  await chmod(directory, 0o755);
  const server = await (programs === undefined ? startEmbedded(directory) : startInstalled(programs));
  const admin = openPool(server.url, 1);
  const { rows } = await admin.query('show server_version');
  return {
    pid: server.pid,
    version: rows[0].server_version,
    directory,
    settings,
    walBytes: async () => {
      const { rows } = await admin.query("select (pg_current_wal_insert_lsn() - '0/0')::float8 as bytes");
      return rows[0].bytes;
    },
    createDatabase: async (name) => {
      await admin.query(`drop database if exists ${name} with (force)`);
      await admin.query(`create database ${name}`);
      const url = new URL(server.url);
      url.pathname = `/${name}`;
      const pool = openPool(url.href, 8);
      return {
        url: url.href,
        pool,
        settle: async () => {
          await pool.query('analyze');
          await pool.query('checkpoint');
        },
        drop: async () => {
          await pool.end();
          await admin.query(`drop database ${name} with (force)`);
        },
      };
    },
  };
}

async function startEmbedded(directory: string): Promise<{ url: string; pid: number }> {
  const server = await startEmbeddedPostgres({ dataDirectory: join(directory, 'data'), settings });
  atEnd(async () => {
    await server.stop();
    await rm(server.dataDirectory, { recursive: true, force: true });
  });
  const pidFile = await readFile(join(server.dataDirectory, 'postgres', 'postmaster.pid'), 'utf8');
  return { url: server.url, pid: Number(pidFile.split('\n')[0]) };
}

async function startInstalled(programs: string): Promise<{ url: string; pid: number }> {
  const server = await startInstalledPostgres(programs, { ...settings, fsync: 'on' });
  atEnd(() => server.stop());
  return { url: server.url('postgres'), pid: server.pid };
}

function openPool(connectionString: string, max: number): pg.Pool {
  const pool = new pg.Pool({ connectionString, max, application_name: applicationName });
  // Dropping a database ends its connections.
  pool.on('error', () => {});
  atEnd(async () => {
    if (!pool.ended) await pool.end();
  });
  return pool;
}
