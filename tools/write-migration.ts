/**
 * Finds what the migrations lack, and writes it as a new one: tables by the difference to the Prisma schema, functions
 * by comparing what the migrations create with what prisma/functions would create.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../src/db/migrate.ts';
import { diffMigrationsToSchema, type Project } from './schema-engine.ts';
import { createScratchDatabase } from './scratch-database.ts';
import {
  createStoredFunctions,
  dropStoredFunctions,
  readFunctionFiles,
  readStoredFunctions,
} from './stored-functions.ts';

export interface MigrationSource extends Project {
  readonly functionsDirectory: string;
  /** Of the new migration; the time goes before it. */
  readonly name: string;
}

/** Returns the folder, or undefined if the migrations lack nothing. */
export async function writeMigration(source: MigrationSource): Promise<string | undefined> {
  // Prisma demands this file beside the migrations.
  const lock = join(source.migrationsDirectory, 'migration_lock.toml');
  if (!existsSync(lock)) writeFileSync(lock, 'provider = "postgresql"\n');
  const sql = await missingFromMigrations(source);
  if (sql === '') return undefined;
  const timestamp = new Date().toISOString().replaceAll(/\D/g, '').slice(0, 14);
  const folder = join(source.migrationsDirectory, `${timestamp}_${source.name}`);
  mkdirSync(folder);
  writeFileSync(join(folder, 'migration.sql'), sql);
  return folder;
}

async function missingFromMigrations(source: MigrationSource): Promise<string> {
  const tables = (await diffMigrationsToSchema(source)).trim();
  const files = readFunctionFiles(source.functionsDirectory);
  const database = await createScratchDatabase(source.url);
  const client = new pg.Client(database.url);
  try {
    await migrate({ url: database.url, directory: source.migrationsDirectory });
    await client.connect();
    const functions = await missingFunctions(client, tables, files);
    const parts = [functions.drops, tables, functions.creates].filter((part) => part !== '');
    return parts.map((part) => `${part}\n`).join('\n');
  } finally {
    await client.end();
    await database.drop();
  }
}

async function missingFunctions(client: pg.Client, tables: string, files: ReadonlyMap<string, string>) {
  const before = await readStoredFunctions(client);
  await dropStoredFunctions(client);
  await client.query('create schema if not exists jobtree');
  await client.query(tables);
  await createStoredFunctions(client, files);
  const after = await readStoredFunctions(client);

  const drops = before
    .filter((old) => !after.some((now) => now.signature === old.signature && now.contract === old.contract))
    .map(({ signature }) => `drop routine ${signature};`);
  const creates = after
    .filter((now) => !before.some((old) => old.definition === now.definition))
    .map(({ name }) => files.get(name)?.trimEnd());
  // A function in plain SQL may name one that comes later.
  if (creates.length > 0) creates.unshift('set local check_function_bodies = off;');
  return { drops: drops.join('\n'), creates: creates.join('\n\n') };
}
