import { afterAll, beforeAll, expect, it } from 'vitest';
import { Database } from '../../src/db/database.ts';
import { eventually } from '../support/eventually.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();
let database: Database;
beforeAll(async () => {
  await db.query('create table fact (is_end boolean)');
  await db.query('create sequence runs');
  // It looks, and then goes on until it is let go. A lock would end by itself after a second.
  await db.query(`
    create function count_facts(text) returns bigint language plpgsql as $$
    declare
      v_count constant bigint := (select count(*) from public.fact);
    begin
      perform nextval('public.runs');
      while not exists (select from public.fact where is_end) loop perform pg_sleep(0.01); end loop;
      return v_count;
    end $$`);
  database = new Database({ url: db.url, poolSize: 8, timeoutMs: 60_000, onIdleError: () => {} });
});
afterAll(async () => {
  await database.close();
});

it('equal surveys of a tenant that wait for their turn run once, and see what was there when they were asked for', async () => {
  const survey = (tenant: string, account: string, isGone = () => false, of = 'facts') =>
    database
      .forRequest({ tenant, account, isGone })
      .surveys.query<{ count: number }>({ text: 'select public.count_facts($1) as count', values: [of] })
      .then(({ rows }) => rows[0]?.count);
  const began = (count: number) =>
    eventually(async () =>
      expect(await db.query('select last_value::int as count from runs where is_called')).toEqual([
        { count },
      ]),
    );

  const running = survey('one', 'a');
  await began(1);
  await db.query('insert into fact values (false)');
  const left = survey('one', 'a', () => true);
  const waiting = Array.from({ length: 20 }, (_, i) => survey('one', i % 2 === 0 ? 'a' : 'b'));
  const others = [survey('one', 'a', undefined, 'others'), survey('two', 'a')];
  await began(2);
  await db.query('insert into fact values (true)');
  expect(await running).toBe(0);
  expect(await Promise.all(waiting)).toEqual(waiting.map(() => 2));
  await Promise.allSettled([left, ...others]);
  // The one that ran, the one that others waited for together, and the two that are none of these.
  await began(4);
});

it('a survey is planned as it says, and what comes after it as usual', async () => {
  const text = `select current_setting('enable_hashjoin') as hashjoin, current_setting('plan_cache_mode') as mode`;
  const { rows } = await database.surveys.query({ text, without: ['seqscan', 'hashjoin'] });
  expect(rows).toEqual([{ hashjoin: 'off', mode: 'force_generic_plan' }]);
  for (let i = 0; i < 8; i++)
    expect((await database.pool.query({ text })).rows).toEqual([{ hashjoin: 'on', mode: 'auto' }]);
});
