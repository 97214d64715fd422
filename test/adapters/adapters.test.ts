/** Adapters take part in the caller's transaction: what it commits and what jobtree has are the same. */
import { PrismaPg } from '@prisma/adapter-pg';
import { drizzle } from 'drizzle-orm/node-postgres';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createJob as createWithDrizzle } from '../../src/adapters/drizzle.ts';
import { createJob as createWithKysely } from '../../src/adapters/kysely.ts';
import { createJob as createWithPg } from '../../src/adapters/pg.ts';
import { createJob as createWithPrisma } from '../../src/adapters/prisma.ts';
import { type Client, createClient, defineType } from '../../src/client/index.ts';
import { PrismaClient } from '../../src/generated/prisma/client.ts';
import type { App } from '../../src/server/create-app.ts';
import { newType } from '../support/engine.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';
import { open as openDrizzle } from './libraries/drizzle-pg.ts';
import { open as openPostgresJs } from './libraries/drizzle-postgres-js.ts';
import { open as openKysely } from './libraries/kysely.ts';
import { open as openPg } from './libraries/pg.ts';
import { open as openPrisma } from './libraries/prisma.ts';
import type { Library } from './library.ts';

const libraries = {
  pg: openPg,
  Prisma: openPrisma,
  'Drizzle on pg': openDrizzle,
  'Drizzle on postgres.js': openPostgresJs,
  Kysely: openKysely,
};

const db = useDatabase();
let app: App;
let client: Client;
beforeAll(async () => {
  // So that nothing but a hint can wake a worker.
  app = await startServer(db.url, { JOBTREE_SWEEP_INTERVAL_MS: '60000' });
  client = createClient({ url: app.url });
  await db.query('create table orders (id integer primary key)');
});
afterAll(async () => {
  await client.close();
  await app.close();
});

let lastOrder = 0;

describe.each(Object.entries(libraries))('%s', (_, open) => {
  let library: Library;
  beforeAll(() => {
    library = open(db.url);
  });
  afterAll(async () => {
    await library.close();
  });
  const orders = (...ids: number[]) => db.query('select id from orders where id = any ($1)', [ids]);
  const refusal = (...[work]: Parameters<Library['transaction']>) =>
    library.transaction(work).then(
      () => expect.unreachable(),
      (error: unknown) => error,
    );

  it('commits jobs and items together with the rows that caused them', async () => {
    const ship = defineType<{ order: number }>(newType(), { maxFailuresPerItem: 7 });
    const order = ++lastOrder;
    const { id, added } = await library.transaction(async (tx) => {
      await tx.saveOrder(order);
      const { id, created } = await tx.createJob(ship.job({ items: [{ order }], dedupeKey: `${order}` }));
      expect(created).toBe(true);
      const again = await tx.createJob(ship.job({ dedupeKey: `${order}` }));
      expect(again).toEqual({ id, created: false });
      const many = Array.from({ length: 1_500 }, (_, i) => ({
        payload: { order: i },
        dedupeKey: `${i % 1_400}`,
      }));
      expect(await client.claimItems('w', [{ type: ship.type, limit: 1 }])).toEqual([]);
      return { id, added: await tx.addItems(id, many, { seal: true }) };
    });
    expect(await orders(order)).toEqual([{ id: order }]);
    expect(added).toMatchObject({ added: 1_400, duplicates: 100, invalid: 0 });
    expect(added.entries[1_499]).toMatchObject({ index: 1_499, status: 'DUPLICATE' });
    expect(added.entries[1_499]?.itemId).toBe(added.entries[99]?.itemId);
    const { nodes } = await client.items(id, { first: 2 });
    expect(nodes).toMatchObject([
      { payload: { order } },
      { id: added.entries[0]?.itemId, payload: { order: 0 } },
    ]);
    const job = await client.job(id);
    expect(job).toMatchObject({ type: ship.type, maxFailuresPerItem: 7, sealedAt: expect.any(String) });
  });

  it('enqueues one piece of work with the row that caused it', async () => {
    const type = newType();
    const options = { dedupeKey: 'a', serializeKey: type, maxFailuresPerItem: 7, wake: false };
    const [first, second] = await library.transaction(async (tx) => {
      await tx.saveOrder(++lastOrder);
      return [await tx.enqueue(type, 'first', options), await tx.enqueue(type, 'second', options)];
    });
    expect([first.created, second]).toEqual([true, { id: first.id, created: false }]);
    expect(await client.job(first.id)).toMatchObject({ maxFailuresPerItem: 7, sealedAt: expect.any(String) });
    expect((await client.items(first.id)).nodes).toMatchObject([{ payload: 'first', serializeKey: type }]);
  });

  it('leaves nothing when the transaction is rolled back', async () => {
    const type = newType();
    const order = ++lastOrder;
    const cause = new Error('the application changed its mind');
    const error = await refusal(async (tx) => {
      await tx.saveOrder(order);
      const { id } = await tx.createJob({ type, items: [{ payload: 1 }] });
      await tx.addItems(id, [{ payload: 2 }], { seal: true });
      throw cause;
    });
    expect(error).toBe(cause);
    expect(await orders(order)).toEqual([]);
    expect(await db.query('select from jobtree.job where type = $1', [type])).toEqual([]);
  });

  it('wakes waiting workers at the commit', { timeout: 30_000 }, async () => {
    const type = newType();
    const hints = client.workAvailable([type]);
    await hints.next();
    await library.transaction((tx) => tx.createJob({ type, items: [{ payload: 'ship it' }] }));
    await hints.next();
    const [first] = await client.claimItems('w', [{ type, limit: 2 }]);
    expect(first?.payload).toBe('ship it');
    const { jobId = '' } = first ?? {};
    const [hint] = [hints.next()];
    await library.transaction((tx) => tx.addItems(jobId, [{ payload: 'that too' }]));
    await hint;
    await hints.return();
  });

  it('refuses what the client refuses, before anything is sent and in Postgres, and names the field', async () => {
    const type = newType();
    const error = await refusal(async (tx) => {
      await expect(tx.createJob({ type, items: [{ payload: Number.NaN }] })).rejects.toMatchObject({
        name: 'JobtreeError',
        code: 'INVALID_INPUT',
        field: 'items[0].payload',
      });
      await expect(tx.addItems('JobItem:1', [])).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        field: 'jobId',
      });
      // Nothing was sent, so the transaction is as it was.
      const { id } = await tx.createJob({ type });
      const items = Array.from({ length: 1_200 }, (_, i) => (i === 1_100 ? { dedupeKey: 5 as never } : {}));
      await tx.addItems(id, items);
    });
    expect(error).toMatchObject({
      name: 'JobtreeError',
      code: 'INVALID_INPUT',
      field: 'items[1100].dedupeKey',
      message: expect.stringContaining('items[1100].dedupeKey'),
    });
    const sealed = await client.createJob({ type, sealed: true });
    expect(await refusal((tx) => tx.addItems(sealed.id, [{}]))).toMatchObject({ code: 'JOB_SEALED' });
    const unknown = 'Job:00000000-0000-7000-8000-000000000000';
    expect(await refusal((tx) => tx.addItems(unknown, [{}]))).toMatchObject({ code: 'NOT_FOUND' });
  });

  it('passes errors that are not about jobtree on unchanged', async () => {
    const error = await refusal(async (tx) => {
      await tx.saveOrder(++lastOrder);
      await tx.saveOrder(lastOrder);
    });
    expect(error).not.toMatchObject({ name: 'JobtreeError' });
  });
});

it('accepts only transactions', async () => {
  const pool = new pg.Pool({ connectionString: db.url });
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: db.url }) });
  const kysely = new Kysely<object>({ dialect: new PostgresDialect({ pool }) });
  const job = { type: newType() };
  // What would commit by itself is an error of the types.
  // @ts-expect-error
  const each = [() => createWithPg(pool, job)];
  // @ts-expect-error
  each.push(() => createWithPrisma(prisma, job));
  // @ts-expect-error
  each.push(() => createWithKysely(kysely, job));
  // @ts-expect-error
  each.push(() => createWithDrizzle(drizzle(pool), job));
  expect(each).toHaveLength(4);
  await expect(each[0]?.()).rejects.toThrow('tx is a pool');
  await prisma.$disconnect();
  await pool.end();
});
