/** The pages on SQL and the model list what there is, and the examples of these pages run, as do those of docs/transactions.md. */
import { PrismaPg } from '@prisma/adapter-pg';
import { drizzle } from 'drizzle-orm/node-postgres';
import { integer, pgTable } from 'drizzle-orm/pg-core';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { applyRoles } from '../../src/db/migrate.ts';
import { PrismaClient } from '../../src/generated/prisma/client.ts';
import { bundle } from '../support/bundle.ts';
import { example, examples } from '../support/documentation.ts';
import { documentedFunctions, documentedTables, documentedViews } from '../support/sql-page.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();
beforeAll(async () => {
  await db.query('create table orders (id integer primary key)');
});

describe('the public SQL interface', () => {
  it.each(documentedFunctions())('has the function $name, with its arguments', async (documented) => {
    const [found] = await db.query<{ arguments: string; defaults: number; count: number }>(
      `select pg_get_function_identity_arguments(oid) as arguments, pronargdefaults as defaults, pronargs as count
       from pg_proc where pronamespace = 'jobtree'::regnamespace and proname = $1`,
      [documented.name],
    );
    const names = documented.arguments.split(', ');
    expect(found?.arguments.split(', ').slice(0, names.length)).toEqual(names);
    // What is not listed may be left out.
    expect(names.length).toBeGreaterThanOrEqual((found?.count ?? 0) - (found?.defaults ?? 0));
  });

  it('has all views, with all their columns in order', async () => {
    const found = await db.query(
      `select table_name as name, json_agg(column_name order by ordinal_position) as columns
       from information_schema.columns join information_schema.views using (table_schema, table_name)
       where table_schema = 'jobtree' group by 1 order by 1`,
    );
    expect(documentedViews().toSorted((a, b) => a.name.localeCompare(b.name))).toEqual(found);
  });

  it('has all tables, for reading', async () => {
    const found = await db.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'jobtree' and tablename <> '_prisma_migrations'`,
    );
    expect(documentedTables().toSorted()).toEqual(found.map(({ name }) => name).toSorted());
  });
});

it('the examples of the pages on SQL work', async () => {
  await db.query('create table customer (id integer primary key, email text)');
  const client = await db.connect();
  try {
    for (const [name, text] of [...examples('sql.md'), ...examples('sql-views.md')]) {
      if (name === 'grant') {
        await applyRoles(db.url);
        await client.query('begin');
        await client.query(text);
        await client.query('rollback');
      } else await client.query(text);
    }
    const { rows } = await client.query(`select type, sealed_at is not null as sealed from jobtree.job`);
    expect(rows).toEqual([{ type: 'welcomeMail', sealed: true }]);
    expect([...examples('sql.md').keys()]).toEqual(['enqueue', 'wake', 'work', 'grant']);
  } finally {
    await client.end();
  }
});

describe('the examples of the page on transactions', () => {
  const orders = pgTable('orders', { id: integer('id').primaryKey() });
  const pool = () => new pg.Pool({ connectionString: db.url });
  const libraries: Record<string, () => { args: unknown[]; close: () => Promise<unknown> }> = {
    pg: () => {
      const own = pool();
      return { args: [own], close: () => own.end() };
    },
    prisma: () => {
      const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: db.url }) });
      return { args: [prisma], close: () => prisma.$disconnect() };
    },
    drizzle: () => {
      const own = pool();
      return { args: [drizzle(own), orders], close: () => own.end() };
    },
    kysely: () => {
      const kysely = new Kysely<object>({ dialect: new PostgresDialect({ pool: pool() }) });
      return { args: [kysely], close: () => kysely.destroy() };
    },
  };

  it.each(Object.keys(libraries))('%s', async (name) => {
    const { code } = await bundle({ main: example('transactions.md', name) }, 'node');
    const module = await import(`data:text/javascript,${encodeURIComponent(code)}`);
    const { args, close } = (libraries[name] as (typeof libraries)[string])();
    const id = Object.keys(libraries).indexOf(name) + 1;
    await module.placeOrder(...args, { id });
    // The second order with this id fails, and its job with it.
    await expect(module.placeOrder(...args, { id })).rejects.toThrow();
    await close();
    const made = await db.query(
      `select i.payload from jobtree.job_item i where (i.payload ->> 'order')::integer = $1`,
      [id],
    );
    expect(made).toEqual([{ payload: { order: id } }]);
  });
});
