/**
 * An embedded Postgres for a jobtree that was given no DATABASE_URL: one server per data directory, on loopback, with
 * a random password, started by the first process that asks and shared with all others.
 *
 * The folder holds
 *     postgres/       the files of the server (PGDATA), with the password in jobtree.password, all of mode 0700 or 0600
 *     postgres.log    what the server has to say
 *
 * A start goes around this loop until it has a server:
 *
 *     a server answers there, its owner lives           -> attach: use it, never stop it
 *     a server answers there, its owner is gone         -> an orphan about to be stopped: stop it, look again
 *     a server is there but not ready (starts, stops)   -> wait, look again
 *     none, or a pid file that a killed server left     -> launch one and own it; if somebody was faster, look again
 *
 * The owner's stop is a clean one and takes the server from the attached too: their connections fail. That is as much
 * as sharing promises: it is for a command beside a running server, not for a cluster.
 */
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { installedBinaries, prepareBinaries } from './binaries.ts';
import { checkVersion, createCluster, readPassword, superuser } from './cluster.ts';
import { EmbeddedPostgresError } from './error.ts';
import { chooseLocation, clusterName } from './location.ts';
import {
  isAlive,
  launchPostmaster,
  type Postmaster,
  quoteLog,
  readPidFile,
  servesCluster,
  shutDown,
} from './postmaster.ts';

export interface EmbeddedPostgresOptions {
  /** Made if missing. Root may get another one: see location.ts. */
  readonly dataDirectory: string;
  /** Whether to make a server's files where there are none. Default: true. */
  readonly create?: boolean;
  /** Server settings, over our defaults. Address and port are not for choosing. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Where root's Postgres goes if it cannot reach dataDirectory; the first that works is taken. */
  readonly rootFallbacks?: readonly string[];
}

export interface EmbeddedPostgres {
  /** Of the database `jobtree`, as its superuser. */
  readonly url: string;
  /** The folder in use. Name it to the operator if it is not the one asked for. */
  readonly dataDirectory: string;
  readonly port: number;
  readonly started: 'fresh' | 'existing' | 'attached';
  /** Stops the server if this process started it. May be called again. */
  stop(): Promise<void>;
}

const databaseName = 'jobtree';

/** How long to wait for a server of another process that is neither ready nor gone. */
const patienceMs = 60_000;
const pollMs = 100;

const defaultSettings: Record<string, string> = {
  max_connections: '100',
  shared_buffers: '128MB',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  // After a crash: one call for the whole file system instead of an fsync for each of a thousand files.
  ...(process.platform === 'linux' ? { recovery_init_sync_method: 'syncfs' } : {}),
};

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const installed = installedBinaries();
  const { folder, account } = chooseLocation(options.dataDirectory, options.rootFallbacks);
  const binaries = prepareBinaries(installed, folder, account);
  const settings = { ...defaultSettings, ...options.settings };
  // The real path: processes that reach the folder by different names must agree on whose server it is.
  const cluster = join(realpathSync(folder), clusterName);
  const log = join(folder, 'postgres.log');

  if (options.create === false && !existsSync(cluster))
    throw new EmbeddedPostgresError(
      `There is no embedded Postgres in ${folder}, and DATABASE_URL is not set. Run this in the folder where \`jobtree start\` ran, or set DATABASE_URL or JOBTREE_DATA_DIR.`,
    );
  const fresh = await createCluster(binaries, account, cluster, settings.fsync !== 'off');
  checkVersion(cluster, binaries);
  const password = readPassword(cluster);
  const running = (started: EmbeddedPostgres['started'], { port, stop }: Postmaster): EmbeddedPostgres => ({
    url: `postgresql://${superuser}:${password}@127.0.0.1:${port}/${databaseName}`,
    dataDirectory: folder,
    port,
    started,
    stop,
  });

  const deadline = performance.now() + patienceMs;
  for (;;) {
    const found = readPidFile(cluster);
    const serving = found && servesCluster(found.pid, cluster);
    const server = found?.ready && (await visit(found.port, password, cluster).catch(() => undefined));
    // Only a process that we can see on this directory may be stopped: a number alone can be anybody's.
    const orphaned = server && !server.isOwned && serving !== false;
    if (server && !orphaned) return running('attached', { port: found.port, stop: async () => {} });
    if (orphaned) shutDown(binaries, cluster, found.pid);
    else if (!serving) {
      const formerPid = serving === false ? found?.pid : undefined;
      const postmaster = await launchPostmaster({ binaries, account, cluster, log, settings, formerPid });
      if (postmaster) {
        await visit(postmaster.port, password, cluster).catch(async (error: Error) => {
          await postmaster.stop();
          throw new EmbeddedPostgresError(
            `Cannot use the embedded Postgres: ${error.message}. ${quoteLog(log)}`,
          );
        });
        return running(fresh ? 'fresh' : 'existing', postmaster);
      }
    }
    if (performance.now() > deadline) {
      throw new EmbeddedPostgresError(
        `Another Postgres (process ${found?.pid}) uses ${cluster}, and refuses the connection. ${quoteLog(log)}`,
      );
    }
    await delay(pollMs);
  }
}

/**
 * Logs in, makes the database if it is missing, and tells whether the process that owns the server lives. That the
 * password fits and the directory is the same proves that it is our server, not some program on a port it once had.
 */
async function visit(port: number, password: string, cluster: string): Promise<{ isOwned: boolean }> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user: superuser,
    password,
    database: 'postgres',
    ssl: false,
    connectionTimeoutMillis: 5_000,
  });
  // The query in progress fails too, and says so.
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query(
      `select current_setting('data_directory') as directory, current_setting('jobtree.owner', true) as owner,
         exists (select from pg_database where datname = $1) as complete`,
      [databaseName],
    );
    const [{ directory, owner, complete }] = rows;
    if (directory !== cluster) throw new Error(`the server on port ${port} serves ${directory}`);
    if (!complete) await client.query(`create database ${databaseName}`).catch(ignoreExisting);
    // One without an owner was started by hand, and is not ours to stop.
    return { isOwned: owner === null || isAlive(Number(owner)) };
  } finally {
    await client.end();
  }
}

const duplicateDatabase = '42P04';
const uniqueViolation = '23505';

/** Several processes may find it missing at the same time. */
function ignoreExisting(error: { code?: string }): void {
  if (error.code !== duplicateDatabase && error.code !== uniqueViolation) throw error;
}
