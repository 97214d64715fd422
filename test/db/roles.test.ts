/** The roles of prisma/roles.sql do what they are for, over all functions and tables, and nothing else. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createJob } from '../../src/adapters/pg.ts';
import { applyRoles, migrate, migrationsDirectory } from '../../src/db/migrate.ts';
import { readFunctionFiles } from '../../tools/stored-functions.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { documentedFunctions } from '../support/sql-page.ts';
import { useDatabase } from '../support/use-server.ts';

const roles = ['jobtree_enqueue', 'jobtree_work', 'jobtree_watch'] as const;
type Role = (typeof roles)[number];

const db = useDatabase();
const clients = new Map<Role, pg.Client>();
beforeAll(async () => {
  await applyRoles(db.url);
  // Twice is as good as once.
  await applyRoles(db.url);
  for (const role of roles) clients.set(role, await connectAs(role));
});
afterAll(async () => {
  for (const [role, client] of clients) {
    await client.end();
    await db.query(`drop role ${user(role)}`);
  }
});

const user = (role: Role) => `${role}_${new URL(db.url).pathname.slice(1)}`;

/** As an application connects that has been granted the role. */
async function connectAs(role: Role): Promise<pg.Client> {
  await db.query(`create role ${user(role)} login password 'secret' in role ${role}`);
  const url = new URL(db.url);
  url.username = user(role);
  url.password = 'secret';
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  return client;
}

async function as(role: Role, text: string, values: unknown[] = []): Promise<Record<string, any>[]> {
  const client = clients.get(role) as pg.Client;
  return (await client.query(text, values)).rows;
}

const forbidden = { code: '42501' };
/** Whoever knows one can finish an item. */
const assignmentIds = ['lease.id', 'assignment.id'];

describe.each(roles)('%s', (role) => {
  it('may call exactly the functions that the page on SQL lists', async () => {
    const functions = await db.query<{ name: string; call: string }>(
      `select p.proname as name, format('select from %s(%s)', p.oid::regproc,
         (select string_agg(format('null::%s', format_type(t, null)), ', ' order by n) from unnest(p.proargtypes) with ordinality a(t, n))) as call
       from pg_proc p where p.pronamespace = 'jobtree'::regnamespace and p.prorettype <> 'trigger'::regtype`,
    );
    const expected = documentedFunctions()
      .filter((one) => one.role === role)
      .map(({ name }) => name);
    const allowed: string[] = [];
    for (const { name, call } of functions) {
      const error = await as(role, `begin; ${call}`).then(
        () => undefined,
        (error: { code: string; message: string }) => error,
      );
      await as(role, 'rollback');
      // The right to call it is looked at first; what goes wrong with nothing but nulls comes later.
      if (error?.message !== `permission denied for function ${name}`) allowed.push(name);
    }
    expect(allowed.toSorted()).toEqual(expected.toSorted());
  });

  it('may read what it needs, and change no table', async () => {
    const relations = await db.query<{ name: string; kind: string; first: string; columns: string[] }>(
      `select c.relname as name, c.relkind as kind, (select a.attname from pg_attribute a where a.attrelid = c.oid and a.attnum = 1) as first,
         array(select a.attname::text from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns
       from pg_class c where c.relnamespace = 'jobtree'::regnamespace and c.relkind in ('r', 'v', 'S', 'p')`,
    );
    const secret = [
      'callback_endpoint',
      'api_key',
      'audit_entry',
      'watch_secret',
      'watch_ticket',
      'hint_secret',
      '_prisma_migrations',
    ];
    expect(relations.length).toBeGreaterThan(25);
    for (const { name, kind, first, columns } of relations) {
      const mayRead = role === 'jobtree_watch' && !secret.includes(name) && kind !== 'S';
      for (const column of columns) {
        const isAssignment =
          ['lease_id', 'claim_id'].includes(column) || assignmentIds.includes(`${name}.${column}`);
        const reading = as(role, `select ${column} from jobtree.${name} limit 0`);
        if (mayRead && !isAssignment) await expect(reading, `${name}.${column}`).resolves.toEqual([]);
        else await expect(reading, `${name}.${column}`).rejects.toMatchObject(forbidden);
      }
      if (kind === 'S') {
        await expect(as(role, `select nextval('jobtree.${name}')`)).rejects.toMatchObject(forbidden);
        continue;
      }
      for (const change of [
        `insert into jobtree.${name} default values`,
        `update jobtree.${name} set ${first} = ${first}`,
        `delete from jobtree.${name}`,
        ...(kind === 'v' ? [] : [`truncate jobtree.${name}`]),
      ])
        await expect(as(role, change), change).rejects.toThrow(
          /permission denied|cannot (insert|update|delete)/,
        );
    }
    await expect(as(role, 'create table jobtree.mine ()')).rejects.toMatchObject(forbidden);
  });
});

it('does its own work from end to end', async () => {
  const enqueuer = clients.get('jobtree_enqueue') as pg.Client;
  await enqueuer.query('begin');
  const { id } = await createJob(enqueuer, {
    type: 'ship',
    items: [{ payload: { order: 1 }, serializeKey: 'k' }],
  });
  await enqueuer.query('commit');
  const jobId = id.replace('Job:', '');
  await as('jobtree_enqueue', `select jobtree.add_items($1, '[{"payload": 2}]')`, [jobId]);
  await as('jobtree_enqueue', 'select jobtree.seal_job($1)', [jobId]);

  const leases = await as(
    'jobtree_work',
    `select jobtree.assignment_id(lease_id, 1) as id from jobtree.claim_items('{w}', '{ship}', '{10}') where lease_id is not null`,
  );
  expect(leases).toHaveLength(2);
  const [first, second] = leases.map((lease) => lease.id as string);
  await as('jobtree_work', 'select jobtree.heartbeat($1)', [[first]]);
  await as('jobtree_work', 'select jobtree.release_assignments($1)', [[second]]);
  await as('jobtree_work', 'select jobtree.report_outcomes($1)', [
    JSON.stringify([{ assignmentId: first, result: { shipped: true } }]),
  ]);
  const states = await as(
    'jobtree_watch',
    'select status from jobtree.item_status where job_id = $1 order by 1',
    [jobId],
  );
  expect(states.map(({ status }) => status)).toEqual(['READY', 'SUCCEEDED']);
  const assignments = await as(
    'jobtree_watch',
    'select state from jobtree.assignment where job_id = $1 order by 1',
    [jobId],
  );
  expect(assignments.map(({ state }) => state)).toEqual(['RELEASED', 'SUCCEEDED']);
});

it('sees rows of all tenants, as the pages on SQL and on tenants say', async () => {
  const tenants = ['acme', 'globex'];
  const jobs: string[] = [];
  for (const tenant of tenants) {
    const spec = { type: `${tenant}//roles`, items: [{ payload: tenant }] };
    const [made] = await as('jobtree_enqueue', 'select * from jobtree.create_job($1)', [
      JSON.stringify(spec),
    ]);
    jobs.push(made?.job_id);
  }
  const types = tenants.map((tenant) => `${tenant}//roles`);
  const claimed = await as(
    'jobtree_work',
    `select job_id from jobtree.claim_items('{w,w}', $1, '{1,1}') where lease_id is not null`,
    [types],
  );
  expect(claimed.map(({ job_id }) => job_id).toSorted()).toEqual(jobs.toSorted());
  const seen = await as('jobtree_watch', 'select type from jobtree.job where type = any($1)', [types]);
  expect(seen.map(({ type }) => type).toSorted()).toEqual(types);
  for (const page of ['sql.md', 'tenants.md']) {
    const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
    expect(text).toMatch(/\*\*(Postgres roles|Roles) are not aware of (\[tenants\]\(\S+\)|tenants)\*\*/);
  }
});

it('no object that a caller creates replaces what a function names', async () => {
  const enqueuer = clients.get('jobtree_enqueue') as pg.Client;
  await db.query(`create schema mine authorization ${user('jobtree_enqueue')}`);
  // Before pg_catalog: they would run with the rights of the owner.
  await enqueuer.query(`
    create function mine.clock_timestamp() returns timestamptz language plpgsql as $$
      begin raise exception 'taken over by %', current_user; end $$;
    create function mine.same(text, text) returns boolean language plpgsql as $$
      begin raise exception 'taken over by %', current_user; end $$;
    create operator mine.= (leftarg = text, rightarg = text, function = mine.same);
    create temporary table job (id uuid);
    set search_path = mine, pg_temp, pg_catalog`);
  const tree = '{"type": "ship", "items": [{"payload": 1, "serializeKey": "k"}]}';
  expect(await as('jobtree_enqueue', 'select created from jobtree.create_job($1)', [tree])).toEqual([
    { created: true },
  ]);
  await enqueuer.query('reset search_path; drop schema mine cascade');
});

describe('after a migration that is followed by one that fails', () => {
  let migrated: TestDatabase;
  let directory: string;

  /** With all migrations of the package and two more, the second of which fails. */
  async function fail(first: string): Promise<void> {
    for (const [name, sql] of [
      ['9_first', first],
      ['9_second', 'select nonsense'],
    ] as const) {
      mkdirSync(join(directory, name));
      writeFileSync(join(directory, name, 'migration.sql'), sql);
    }
    await expect(migrate({ url: migrated.url, directory })).rejects.toThrow('9_second failed');
  }
  const mayCall = async (name: string) =>
    (
      await migrated.query<{ definer: boolean; roles: string[] }>(
        `select prosecdef as definer, array(
           select r from unnest($2::text[]) r where has_function_privilege(r, p.oid, 'execute')
         ) as roles
         from pg_proc p where pronamespace = 'jobtree'::regnamespace and proname = $1`,
        [name, roles],
      )
    )[0];

  beforeEach(async () => {
    migrated = await createDatabase();
    await applyRoles(migrated.url);
    directory = mkdtempSync(join(tmpdir(), 'jobtree-roles-'));
    cpSync(migrationsDirectory, directory, { recursive: true });
  });
  afterEach(async () => {
    rmSync(directory, { recursive: true });
    await migrated.drop();
  });

  it('functions that it replaced keep their rights', async () => {
    await fail(readFunctionFiles('prisma/functions').get('create_job') ?? '');
    expect(await mayCall('create_job')).toEqual({ definer: true, roles: ['jobtree_enqueue'] });
  });

  it('functions that it dropped and created anew keep their rights', async () => {
    await fail(`drop function jobtree.seal_job; ${readFunctionFiles('prisma/functions').get('seal_job')}`);
    expect(await mayCall('seal_job')).toEqual({ definer: true, roles: ['jobtree_enqueue'] });
  });

  it('what it created may be used as far as the roles say', async () => {
    await fail(`
      create function jobtree.secret() returns integer language sql as 'select 1';
      create table jobtree.fact (number integer, lease_id uuid)`);
    expect(await mayCall('secret')).toEqual({ definer: false, roles: [] });
    const readable = `select array(
      select column_name::text from information_schema.columns
      where table_schema = 'jobtree' and table_name = 'fact' and has_column_privilege('jobtree_watch', 'jobtree.fact', column_name, 'select')
    ) as columns`;
    expect(await migrated.query(readable)).toEqual([{ columns: ['number'] }]);
  });

  it('rights do not wait for what only a later migration creates', async () => {
    await migrated.query('drop function jobtree.enqueue; drop table jobtree.watch_ticket');
    await fail(readFunctionFiles('prisma/functions').get('create_job') ?? '');
    expect(await mayCall('create_job')).toEqual({ definer: true, roles: ['jobtree_enqueue'] });
  });
});

it('keeps its rights through a migration that replaces the functions', async () => {
  const definers = () =>
    db.query(
      `select proname from pg_proc where pronamespace = 'jobtree'::regnamespace and prosecdef order by 1`,
    );
  const before = await definers();
  expect(before).toHaveLength(10);
  const directory = mkdtempSync(join(tmpdir(), 'jobtree-migrations-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  cpSync(migrationsDirectory, directory, { recursive: true });
  const functions = [...readFunctionFiles(join(migrationsDirectory, '../functions')).values()];
  mkdirSync(join(directory, '99999999999999_again'));
  writeFileSync(
    join(directory, '99999999999999_again/migration.sql'),
    ['set local check_function_bodies = off;', ...functions].join('\n'),
  );
  await migrate({ url: db.url, directory });
  expect(await definers()).toEqual(before);
});
