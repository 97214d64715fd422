import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { migrate } from '../../src/db/migrate.ts';
import { createScratchDatabase } from '../../tools/scratch-database.ts';
import { startScratchServer } from '../../tools/scratch-server.ts';
import { readStoredFunctions } from '../../tools/stored-functions.ts';
import { writeMigration } from '../../tools/write-migration.ts';

let server: Awaited<ReturnType<typeof startScratchServer>>;
let project: string;

beforeAll(async () => {
  server = await startScratchServer();
});

afterAll(() => server.stop());

beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'jobtree-project-'));
  mkdirSync(join(project, 'migrations'));
  mkdirSync(join(project, 'functions'));
  writeTables('name String');
  writeFunction(
    'greet',
    `(p_name text) returns text language sql as $$ select 'Hello; ' || jobtree.twice(p_name) $$`,
  );
  writeFunction('twice', `(p_name text) returns text language sql as $$ select p_name || p_name $$`);
});

afterEach(() => rmSync(project, { recursive: true }));

function writeTables(columns: string): void {
  writeFileSync(
    join(project, 'schema.prisma'),
    `datasource db {\n  provider = "postgresql"\n  schemas = ["jobtree"]\n}\n` +
      `model person {\n  id Int @id\n  ${columns}\n  @@schema("jobtree")\n}\n`,
  );
}

function writeFunction(name: string, text: string): void {
  writeFileSync(
    join(project, 'functions', `${name}.sql`),
    `-- What ${name} does.\ncreate or replace function jobtree.${name}${text};\n`,
  );
}

const write = (name: string) =>
  writeMigration({
    url: server.url,
    schemaFile: join(project, 'schema.prisma'),
    functionsDirectory: join(project, 'functions'),
    migrationsDirectory: join(project, 'migrations'),
    name,
  });

const textOf = (folder: string | undefined) => readFileSync(join(folder ?? 'none', 'migration.sql'), 'utf8');

/** The functions of a database that went through all migrations. */
async function migratedFunctions(): Promise<string[]> {
  const database = await createScratchDatabase(server.url);
  const client = new pg.Client(database.url);
  try {
    await migrate({ url: database.url, directory: join(project, 'migrations') });
    await client.connect();
    return (await readStoredFunctions(client)).map(({ signature }) => signature);
  } finally {
    await client.end();
    await database.drop();
  }
}

// Migrations of the same second sort by name: hence the letters.

it('the first migration contains the tables and each function file, and then nothing is missing', async () => {
  const sql = textOf(await write('a'));
  expect(sql).toContain('CREATE TABLE "jobtree"."person"');
  expect(sql).toContain(`${readFileSync(join(project, 'functions/greet.sql'), 'utf8')}\n`);
  expect(sql).toContain(readFileSync(join(project, 'functions/twice.sql'), 'utf8'));
  expect(await write('b')).toBeUndefined();
  expect(await migratedFunctions()).toEqual(['jobtree.greet(text)', 'jobtree.twice(text)']);
});

it('a changed body migrates that function only', async () => {
  await write('a');
  writeFunction('twice', `(p_name text) returns text language sql as $$ select repeat(p_name, 2) $$`);
  const sql = textOf(await write('b'));
  expect(sql).toContain('repeat(p_name, 2)');
  expect(sql).not.toMatch(/greet|drop|person/i);
  expect(await write('c')).toBeUndefined();
});

it('a line about plans becomes settings', async () => {
  writeFunction(
    'found',
    `() returns integer language sql\n-- plans: no seqscan, hashjoin; generic\nas $$ select 1 $$`,
  );
  expect(textOf(await write('settings'))).toContain(
    `language sql
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set plan_cache_mode = force_generic_plan
as $$`,
  );
});

it('a changed table migrates that change only', async () => {
  await write('a');
  writeTables('name String\n  age Int?');
  const sql = textOf(await write('b'));
  expect(sql).toContain('ALTER TABLE "jobtree"."person" ADD COLUMN     "age" INTEGER');
  expect(sql).not.toMatch(/greet|twice/);
});

it.each([
  ['other arguments', '(p_name text, p_times int default 2) returns text', 'jobtree.twice(text,integer)'],
  ['another result', '(p_name text) returns char(9)', 'jobtree.twice(text)'],
  ['another name of an argument', '(p_text text) returns text', 'jobtree.twice(text)'],
  ['no default any more', '(p_name text) returns text', 'jobtree.twice(text)'],
])('a function with %s replaces the old one', async (_, head, signature) => {
  writeFunction('twice', `(p_name text default 'x') returns text language sql as $$ select 'x' $$`);
  await write('a');
  writeFunction('twice', `${head} language sql as $$ select 'x' $$`);
  expect(textOf(await write('b'))).toMatch(/^drop routine jobtree\.twice\(text\);/);
  expect(await migratedFunctions()).toEqual(['jobtree.greet(text)', signature]);
  expect(await write('c')).toBeUndefined();
});

it('a function without a file is dropped', async () => {
  await write('a');
  rmSync(join(project, 'functions/greet.sql'));
  expect(textOf(await write('b'))).toBe('drop routine jobtree.greet(text);\n');
  expect(await migratedFunctions()).toEqual(['jobtree.twice(text)']);
});

it('a file that creates something else, or fails, is named, and nothing is written', async () => {
  writeFunction('twice', `_more() returns int language sql as $$ select 1 $$`);
  writeFunction('greet', `() returns text language sql as $$ select 'Hello' $$`);
  await expect(write('a')).rejects.toThrow('look at twice, twice_more');
  writeFunction('twice', `() returns int language sql as $$ select nonsense $$`);
  await expect(write('a')).rejects.toThrow('twice.sql: column "nonsense" does not exist');
  expect(readdirSync(join(project, 'migrations'))).toEqual(['migration_lock.toml']);
});
