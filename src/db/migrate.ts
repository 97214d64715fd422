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
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { isFull } from './patient-pool.ts';

/** The same two levels up from src/db and from dist/db. */
export const migrationsDirectory = fileURLToPath(new URL('../../prisma/migrations', import.meta.url));

/** Roles that may only add, only work or only watch. */
export const rolesFile = fileURLToPath(new URL('../../prisma/roles.sql', import.meta.url));

const oldestServerVersion = 15;
const prismaAdvisoryLock = 72707369;

/** The database can't be used with this version of jobtree; the message says why and what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

interface AppliedMigration {
  readonly name: string;
  readonly checksum: string;
  readonly finished: boolean;
}

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
    const client = new pg.Client({ connectionString: url });
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

async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(
    names.sort().map(async (name) => {
      const sql = await readFile(join(directory, name, 'migration.sql'), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

async function readBooks(client: pg.ClientBase): Promise<AppliedMigration[]> {
  if (!(await hasBooks(client))) return [];
  const { rows } = await client.query<AppliedMigration>(
    `select migration_name as name, checksum, finished_at is not null as finished
       from jobtree._prisma_migrations
      where rolled_back_at is null
      order by started_at`,
  );
  return rows;
}

function isUpToDate(
  migrations: readonly Migration[],
  books: readonly AppliedMigration[],
  version: string,
): boolean {
  const applied = new Map(books.map(({ name, checksum }) => [name, checksum]));
  const known = new Set(migrations.map(({ name }) => name));
  const [first] = migrations;
  return (
    migrations.every(({ name, checksum }) => applied.get(name) === checksum) &&
    books.every(
      ({ name, finished }) =>
        finished && (known.has(name) || (first !== undefined && name > first.name && !breaks(name, version))),
    )
  );
}

/** Whether a migration is nothing for a release: it breaks that one, or a later one. */
function breaks(migration: string, version: string): boolean {
  const [, major, minor] = /_breaks_(\d+)_(\d+)$/.exec(migration) ?? [];
  if (major === undefined) return false;
  const [ownMajor = 0, ownMinor = 0] = version.split('.').map(Number);
  return ownMajor < Number(major) || (ownMajor === Number(major) && ownMinor <= Number(minor));
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

function requireReadableBooks(
  migrations: readonly Migration[],
  books: readonly AppliedMigration[],
  version: string,
): void {
  const checksums = new Map(migrations.map(({ name, checksum }) => [name, checksum]));
  const unfinished = books.find(({ finished }) => !finished);
  if (unfinished !== undefined)
    throw new MigrationError(
      `Migration ${unfinished.name} was started by another program and did not finish. Its row in ` +
        'jobtree._prisma_migrations has the log. Remove what it left behind, then let it run again with: ' +
        `update jobtree._prisma_migrations set rolled_back_at = now() where migration_name = '${unfinished.name}'`,
    );
  const [first] = migrations;
  const older = books.filter(({ name }) => first !== undefined && name < first.name).map(({ name }) => name);
  if (older.length > 0)
    throw new MigrationError(
      `This version cannot upgrade the database of this older jobtree (${older.join(', ')}). ` +
        'Use a new database.',
    );
  const breaking = books
    .filter(({ name }) => !checksums.has(name) && breaks(name, version))
    .map(({ name }) => name);
  if (breaking.length > 0)
    throw new MigrationError(
      `The database was migrated by a newer jobtree, and jobtree ${version} can no longer use it: ${breaking.join(', ')}. ` +
        'Start that version, or go back to a backup from before.',
    );
  const edited = books
    .filter(({ name, checksum }) => checksums.has(name) && checksums.get(name) !== checksum)
    .map(({ name }) => name);
  if (edited.length > 0)
    throw new MigrationError(
      `These migrations were edited after they were applied: ${edited.join(', ')}. ` +
        'Restore the files, and put the changes into a new migration.',
    );
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

/** Asks the catalog's tables: to_regclass may answer from before the wait for the lock. */
async function hasBooks(client: pg.ClientBase): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from pg_tables where schemaname = 'jobtree' and tablename = '_prisma_migrations'`,
  );
  return rowCount === 1;
}

async function hasRoles(client: pg.Client): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from pg_roles where rolname = 'jobtree_enqueue' and has_schema_privilege(oid, 'jobtree', 'usage')`,
  );
  return rowCount === 1;
}

/** Creates what is missing only: `if not exists` wants the right to create even where nothing is created. */
async function openBooks(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query(`select from pg_namespace where nspname = 'jobtree'`);
  if (rowCount === 0) await client.query('create schema jobtree');
  if (!(await hasBooks(client)))
    await client.query(
      `create table jobtree._prisma_migrations (
         id varchar(36) primary key not null,
         checksum varchar(64) not null,
         finished_at timestamptz,
         migration_name varchar(255) not null,
         logs text,
         rolled_back_at timestamptz,
         started_at timestamptz not null default now(),
         applied_steps_count integer not null default 0
       )`,
    );
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
