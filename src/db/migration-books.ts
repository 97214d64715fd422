/**
 * Prisma's own books about which migrations a database has had (jobtree._prisma_migrations), compared with those of this package. What
 * can't be continued from is refused, and says what to do.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';

/** The database can't be used with this version of jobtree; the message says why and what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

export interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

interface AppliedMigration {
  readonly name: string;
  readonly checksum: string;
  readonly finished: boolean;
}

export async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(
    names.sort().map(async (name) => {
      const sql = await readFile(join(directory, name, 'migration.sql'), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

export async function readBooks(client: pg.ClientBase): Promise<AppliedMigration[]> {
  if (!(await hasBooks(client))) return [];
  const { rows } = await client.query<AppliedMigration>(
    `select migration_name as name, checksum, finished_at is not null as finished
       from jobtree._prisma_migrations
      where rolled_back_at is null
      order by started_at`,
  );
  return rows;
}

export function isUpToDate(
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

export function requireReadableBooks(
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

/** Asks the catalog's tables: to_regclass may answer from before the wait for the lock. */
async function hasBooks(client: pg.ClientBase): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from pg_tables where schemaname = 'jobtree' and tablename = '_prisma_migrations'`,
  );
  return rowCount === 1;
}

/** Creates what is missing only: `if not exists` wants the right to create even where nothing is created. */
export async function openBooks(client: pg.Client): Promise<void> {
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
