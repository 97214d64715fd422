/**
 * Brings the database up to the migrations of this package, at every start of a server.
 *
 * It keeps Prisma's own books (jobtree._prisma_migrations, the same checksums and the same advisory lock), so that
 * `prisma migrate` with `?schema=jobtree` in the URL agrees with it. Each migration is one transaction together with its
 * row in the books: a migration that fails leaves nothing behind, and the next start tries it again. Servers that start
 * at once wait for each other at the lock; a database that is up to date is recognised without it.
 *
 * Servers work on the tables meanwhile. A statement of a migration that waits for a lock makes everybody wait who comes after it, so it waits
 * for a moment only: then all is undone, and tried again a little later, until whoever has the lock (a backup, mostly) is done.
 *
 * A database that a newer release has migrated is used as it is, since migrations leave the release before them working
 * (docs/releases.md). One that does not says so in its name: `…_breaks_1_4` is nothing for 1.4 and older.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import {
  isUpToDate,
  type Migration,
  MigrationError,
  openBooks,
  readBooks,
  readMigrations,
  requireReadableBooks,
} from './migration-books.ts';
import { isFull } from './patient-pool.ts';
import { PostgresClient } from './postgres-client.ts';

/** The same two levels up from src/db and from dist/db. */
export const migrationsDirectory = fileURLToPath(new URL('../../prisma/migrations', import.meta.url));

/** Roles that may only add, only work or only watch. */
export const rolesFile = fileURLToPath(new URL('../../prisma/roles.sql', import.meta.url));

const oldestServerVersion = 15;
const prismaAdvisoryLock = 72707369;

/** Of this package. */
export const { version: ownVersion } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { version: string };

export interface MigrateOptions {
  readonly url: string;
  /** Called with the name of each migration before it runs. */
  readonly onApply?: (name: string) => void;
  /** Called with its name when one is undone, since others have what it is to lock; it is tried again. */
  readonly onBlocked?: (name: string) => void;
  readonly directory?: string;
  /** Which release this is. Default: that of this package. */
  readonly version?: string;
  /** How long to wait for a connection while Postgres has none to give. Default: not at all. */
  readonly waitMs?: number;
}

const askAgainMs = 250;

/** Less than servers wait for a lock, and than Postgres waits before it looks for deadlocks. */
const migrationLockTimeoutMs = 200;
const longestPauseMs = 5_000;

export async function migrate({
  url,
  onApply,
  onBlocked,
  directory = migrationsDirectory,
  version = ownVersion,
  waitMs = 0,
}: MigrateOptions): Promise<{ applied: string[] }> {
  const migrations = await readMigrations(directory);
  const client = await connect(url, waitMs);
  try {
    requireSupportedServer(await serverVersion(client));
    const applied: string[] = [];
    if (isUpToDate(migrations, await readBooks(client), version)) return { applied };
    for (let failures = 0; ; ) {
      const step = await applyNext(client, migrations, version, failures === 0 ? onApply : undefined);
      if (step.outcome === 'NOTHING_LEFT') return { applied };
      if (step.outcome === 'APPLIED') {
        applied.push(step.name);
        failures = 0;
      } else {
        onBlocked?.(step.name);
        await delay(Math.min(longestPauseMs, askAgainMs * 2 ** failures++) * (0.5 + Math.random()));
      }
    }
  } finally {
    await client.end();
  }
}

/** Which migrations a database lacks, and how many it has. Throws a MigrationError if this version can't go on from them. Changes nothing. */
export async function pendingMigrations(
  client: pg.ClientBase,
  directory: string = migrationsDirectory,
): Promise<{ pending: string[]; applied: number }> {
  const [migrations, books] = [await readMigrations(directory), await readBooks(client)];
  requireReadableBooks(migrations, books, ownVersion);
  const pending = migrations.filter(({ name }) => !books.some((row) => row.name === name));
  return { pending: pending.map(({ name }) => name), applied: migrations.length - pending.length };
}

/** Makes the roles, or gives them their rights anew, in a database that is migrated: all of it, or nothing. */
export async function applyRoles(url: string): Promise<void> {
  const client = await connect(url, 0);
  try {
    // Several statements in one text are one transaction.
    await client.query(await readFile(rolesFile, 'utf8'));
  } finally {
    await client.end();
  }
}

async function connect(url: string, waitMs: number): Promise<pg.Client> {
  const giveUpAt = performance.now() + waitMs;
  for (;;) {
    const client = new PostgresClient({ connectionString: url });
    // A lost connection also rejects the query in flight, which is where it is handled.
    client.on('error', () => {});
    try {
      await client.connect();
      return client;
    } catch (error) {
      if (!isFull(error) || performance.now() >= giveUpAt) throw error;
      await delay(askAgainMs * (0.5 + Math.random()));
    }
  }
}

/** Throws for a server that is too old, given its `server_version_num`. */
export function requireSupportedServer(serverVersion: number): void {
  const major = Math.floor(serverVersion / 10_000);
  if (major < oldestServerVersion)
    throw new MigrationError(
      `jobtree needs PostgreSQL ${oldestServerVersion} or newer; this server is PostgreSQL ${major}.`,
    );
}

async function serverVersion(client: pg.Client): Promise<number> {
  const { rows } = await client.query(`select current_setting('server_version_num')::int as version`);
  return rows[0].version;
}

type Step = { outcome: 'APPLIED' | 'BLOCKED'; name: string } | { outcome: 'NOTHING_LEFT' };

/** Applies the first migration that the books don't have; or undoes it, since it met a lock. */
async function applyNext(
  client: pg.Client,
  migrations: readonly Migration[],
  version: string,
  onApply: MigrateOptions['onApply'],
): Promise<Step> {
  // Read committed, whatever the default: what is read behind the lock has to be what the last holder left.
  await client.query('begin isolation level read committed');
  let next: Migration | undefined;
  try {
    // A role or a pooler may have set them.
    await client.query('set local statement_timeout = 0');
    await client.query('set local lock_timeout = 0');
    await client.query('select pg_advisory_xact_lock($1)', [prismaAdvisoryLock]);
    const books = await readBooks(client);
    requireReadableBooks(migrations, books, version);
    next = migrations.find(({ name }) => !books.some((row) => row.name === name));
    if (next !== undefined) {
      onApply?.(next.name);
      await client.query(`set local lock_timeout = ${migrationLockTimeoutMs}`);
      await apply(client, next).catch((error) => {
        throw failure(next as Migration, error);
      });
      // A function that was replaced has lost what they need, and one that is new may be called by everybody.
      if (await hasRoles(client)) await client.query(await readFile(rolesFile, 'utf8'));
    }
    await client.query('commit');
    return next === undefined ? { outcome: 'NOTHING_LEFT' } : { outcome: 'APPLIED', name: next.name };
  } catch (error) {
    // Fails on a lost connection, and then there is nothing left to roll back.
    await client.query('rollback').catch(() => {});
    if (next !== undefined && isBlocked(error)) return { outcome: 'BLOCKED', name: next.name };
    throw error;
  }
}

/** lock_not_available or deadlock_detected, as it is or as the cause of a failure. */
function isBlocked(error: unknown): boolean {
  const { code = '' } = ((error as Error).cause ?? error) as { code?: string };
  return code === '55P03' || code === '40P01';
}

async function apply(client: pg.Client, { name, checksum, sql }: Migration): Promise<void> {
  await openBooks(client);
  // The search path that Prisma would use, so that the same text does the same thing.
  await client.query('set local search_path = jobtree');
  await client.query(sql);
  // Not now(), which is when the wait for the lock began: Prisma takes the order of the times for that of the migrations.
  await client.query(
    `insert into jobtree._prisma_migrations (id, migration_name, checksum, started_at, finished_at, applied_steps_count)
     values ($1, $2, $3, clock_timestamp(), clock_timestamp(), 1)`,
    [randomUUID(), name, checksum],
  );
}

async function hasRoles(client: pg.Client): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from pg_roles where rolname = 'jobtree_enqueue' and has_schema_privilege(oid, 'jobtree', 'usage')`,
  );
  return rowCount === 1;
}

function failure({ name, sql }: Migration, cause: unknown): MigrationError {
  const { message, detail, hint, position } = cause as pg.DatabaseError;
  const line =
    position === undefined ? [] : [`line ${sql.slice(0, Number(position) - 1).split('\n').length}`];
  const reason = [message, detail, hint, ...line].filter((part) => part !== undefined).join('; ');
  return new MigrationError(
    `Migration ${name} failed: ${reason}. Nothing of it was kept. Remove the cause and start again.`,
    { cause },
  );
}
