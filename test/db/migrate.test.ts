import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { migrate, migrationsDirectory, requireSupportedServer } from '../../src/db/migrate.ts';
import { diagnoseMigrationHistory, diffMigrationsToSchema } from '../../tools/schema-engine.ts';
import { createScratchDatabase, type ScratchDatabase } from '../../tools/scratch-database.ts';
import { startScratchServer } from '../../tools/scratch-server.ts';
import {
  createStoredFunctions,
  dropStoredFunctions,
  readFunctionFiles,
  readStoredFunctions,
} from '../../tools/stored-functions.ts';

let server: Awaited<ReturnType<typeof startScratchServer>>;
const committed = readdirSync(migrationsDirectory, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort();

let database: ScratchDatabase;
let client: pg.Client;
let url: string;

beforeAll(async () => {
  server = await startScratchServer();
});

afterAll(() => server.stop());

beforeEach(async () => {
  database = await createScratchDatabase(server.url);
  url = database.url;
  client = new pg.Client({ connectionString: url });
  await client.connect();
});

afterEach(async () => {
  await client.end();
  await database.drop();
});

async function column(sql: string): Promise<unknown[]> {
  const { rows } = await client.query({ text: sql, rowMode: 'array' });
  return rows.flat();
}

const books = () => column('select migration_name from jobtree._prisma_migrations order by started_at');

describe('the migrations of the package', () => {
  it('are applied to an empty database once, in order', async () => {
    const seen: string[] = [];
    const first = await migrate({ url, onApply: (name) => seen.push(name) });
    expect(first.applied).toEqual(committed);
    expect(seen).toEqual(committed);
    expect(await migrate({ url, onApply: (name) => seen.push(name) })).toEqual({ applied: [] });
    expect(seen).toEqual(committed);
  });

  it('are applied once when ten servers start at the same moment', async () => {
    const results = await Promise.all(Array.from({ length: 10 }, () => migrate({ url })));
    expect(results.flatMap(({ applied }) => applied).sort()).toEqual(committed);
    expect(await books()).toEqual(committed);
  });

  it('leave everything outside the schema jobtree alone, including a Prisma project of the user', async () => {
    await client.query(`create table public._prisma_migrations as select 'theirs' as migration_name`);
    await migrate({ url });
    expect(await column('select migration_name from public._prisma_migrations')).toEqual(['theirs']);
    const outside = `relnamespace <> 'jobtree'::regnamespace and oid >= 16384 and relkind in ('r', 'v', 'S')`;
    expect(await column(`select relname from pg_class where ${outside}`)).toEqual(['_prisma_migrations']);
  });

  it('create exactly the functions of prisma/functions', async () => {
    await migrate({ url });
    const migrated = await readStoredFunctions(client);
    await dropStoredFunctions(client);
    await createStoredFunctions(client, readFunctionFiles('prisma/functions'));
    expect(migrated).toEqual(await readStoredFunctions(client));
  });

  it('create the tables of prisma/schema.prisma, according to Prisma', async () => {
    await migrate({ url });
    const project = {
      url,
      migrationsDirectory,
      schemaFile: 'prisma/schema.prisma',
    };
    expect(await diffMigrationsToSchema(project)).toBe('');
    expect(await diagnoseMigrationHistory(project)).toEqual({
      hasMigrationsTable: true,
      history: null,
      editedMigrationNames: [],
      failedMigrationNames: [],
    });
  });
});

describe('a role without special rights', () => {
  let role: string;
  let asRole: string;

  beforeEach(async () => {
    role = `jobtree_role_${randomUUID()}`;
    await client.query(`create role "${role}" login password 'secret'`);
    const own = new URL(url);
    own.username = role;
    own.password = 'secret';
    asRole = own.href;
  });

  afterEach(async () => {
    await client.query(
      `reassign owned by "${role}" to current_user; drop owned by "${role}"; drop role "${role}"`,
    );
  });

  it('migrates a database that it owns', async () => {
    await client.query(`alter database "${client.database}" owner to "${role}"`);
    expect((await migrate({ url: asRole })).applied).toEqual(committed);
  });

  it('migrates in a schema that was created for it', async () => {
    await client.query(`create schema jobtree authorization "${role}"`);
    expect((await migrate({ url: asRole })).applied).toEqual(committed);
  });

  it('is told which right it lacks', async () => {
    await expect(migrate({ url: asRole })).rejects.toThrow(/permission denied for database/);
  });

  it('starts on an up-to-date database without waiting for a lock', async () => {
    await migrate({ url });
    await client.query(`grant usage on schema jobtree to "${role}"`);
    await client.query(`grant select on jobtree._prisma_migrations to "${role}"`);
    await client.query('select pg_advisory_lock(72707369)');
    expect(await migrate({ url: asRole })).toEqual({ applied: [] });
  });
});

describe('a directory of migrations', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'jobtree-migrations-'));
    write('1_people', 'create table jobtree.people (name text);');
  });

  afterEach(() => rmSync(directory, { recursive: true }));

  function write(name: string, sql: string): void {
    mkdirSync(join(directory, name), { recursive: true });
    writeFileSync(join(directory, name, 'migration.sql'), sql);
  }

  const start = () => migrate({ url, directory });

  it('grows: only new migrations are applied', async () => {
    await start();
    write('2_places', 'create table places (name text);\nselect 1;');
    expect(await start()).toEqual({ applied: ['2_places'] });
    expect(await books()).toEqual(['1_people', '2_places']);
    // Unqualified names land where Prisma would put them.
    expect(await column(`select to_regclass('jobtree.places')::text`)).toEqual(['jobtree.places']);
  });

  it('fails: nothing of the migration is kept, the error names it with reason and line, and a repaired one is applied', async () => {
    write('2_broken', 'create table jobtree.half (a int);\n\ncreate table jobtree.half (a int);');
    write('3_after', 'create table jobtree.never (a int);');
    const complaint = /2_broken failed: relation "half" already exists.*Nothing of it was kept/;
    await expect(start()).rejects.toThrow(complaint);
    await expect(start()).rejects.toThrow(complaint);
    expect(await books()).toEqual(['1_people']);
    expect(await column(`select to_regclass('jobtree.half')`)).toEqual([null]);

    write('2_broken', 'create table jobtree.half (a int);\n\nselect nonsense;');
    await expect(start()).rejects.toThrow(/2_broken failed: column "nonsense" does not exist; line 3/);
    write('2_broken', 'create table jobtree.half (a int);');
    expect(await start()).toEqual({ applied: ['2_broken', '3_after'] });
  });

  it('fails in its first migration: not even the schema is kept', async () => {
    write('1_people', 'select nonsense');
    await expect(start()).rejects.toThrow(/1_people failed/);
    expect(await column(`select to_regnamespace('jobtree')`)).toEqual([null]);
  });

  it('was edited after it was applied: it is refused', async () => {
    await start();
    write('1_people', 'create table jobtree.people (name text, age int);');
    write('2_places', 'create table jobtree.places (name text);');
    await expect(start()).rejects.toThrow(/edited after they were applied: 1_people/);
    expect(await books()).toEqual(['1_people']);
  });

  it('is older than the database: the database is used as it is', async () => {
    write('3_places', 'create table jobtree.places (name text);');
    await start();
    rmSync(join(directory, '3_places'), { recursive: true });
    expect(await start()).toEqual({ applied: [] });
    write('2_animals', 'create table jobtree.animals (name text);');
    expect(await start()).toEqual({ applied: ['2_animals'] });
    expect(await start()).toEqual({ applied: [] });
  });

  it.each([
    ['1.3.9', true],
    ['1.4.0', true],
    ['1.5.0', false],
    ['2.0.0', false],
  ])(
    'is that of %s, and the database was migrated by one that breaks 1.4: refused is %s',
    async (version, isRefused) => {
      const name = '2_drop_places_breaks_1_4';
      write(name, 'create table jobtree.places (name text);');
      await start();
      rmSync(join(directory, name), { recursive: true });
      const older = migrate({ url, directory, version });
      if (isRefused)
        await expect(older).rejects.toThrow(
          `newer jobtree, and jobtree ${version} can no longer use it: ${name}`,
        );
      else expect(await older).toEqual({ applied: [] });
    },
  );

  it('has one that Prisma began and did not finish: it is refused until the operator follows the message', async () => {
    await start();
    write('2_places', 'create table jobtree.places (name text);');
    await client.query(
      `insert into jobtree._prisma_migrations (id, checksum, migration_name) values ('x', 'x', '2_places')`,
    );
    const complaint: Error = await start().then(
      () => expect.unreachable(),
      (error) => error,
    );
    expect(complaint.message).toContain('2_places was started by another program and did not finish');
    await client.query(complaint.message.slice(complaint.message.indexOf('update jobtree.')));
    expect(await start()).toEqual({ applied: ['2_places'] });
  });

  it('is awaited by two servers while Prisma holds the lock: the second sees what the first applied', async () => {
    write('2_places', 'create table jobtree.places (name text);');
    await client.query('select pg_advisory_lock(72707369)');
    const starts = [start(), start()];
    const waiting = `select count(*)::int from pg_locks where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`;
    await expect.poll(() => column(waiting)).toEqual([2]);
    await client.query('select pg_advisory_unlock(72707369)');
    const results = await Promise.all(starts);
    expect(results.flatMap(({ applied }) => applied).sort()).toEqual(['1_people', '2_places']);
    expect(await books()).toEqual(['1_people', '2_places']);
  });
});

it('a server older than PostgreSQL 15 is refused', () => {
  expect(() => requireSupportedServer(140_022)).toThrow(
    'needs PostgreSQL 15 or newer; this server is PostgreSQL 14',
  );
  expect(() => requireSupportedServer(150_000)).not.toThrow();
  expect(() => requireSupportedServer(180_004)).not.toThrow();
});
