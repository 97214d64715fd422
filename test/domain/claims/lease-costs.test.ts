/** What a call about leases costs does not grow with the leases of others, with those that have ended, or under an old snapshot. */
import type pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { readItemKeys } from '../../../src/domain/items/item-pages.ts';
import { stopAutovacuum } from '../../support/plans.ts';
import { useDatabase } from '../../support/use-server.ts';

const few = 500;
const many = 5_000;
const strangers = 20_000;
/** Pages are fuller or emptier, and indexes have a level more. */
const factor = 3;

const db = useDatabase();
beforeAll(() => stopAutovacuum(db));

async function job(type: string, count: number): Promise<string> {
  const [row] = await db.query<{ job_id: string }>('select job_id from jobtree.create_job($1)', [
    JSON.stringify({ type, heartbeatIntervalMs: 60_000 }),
  ]);
  await db.query(
    "select * from jobtree.add_payloads($1, array_to_string(array_fill(1, array[$2::int]), e'\\x1e'))",
    [row?.job_id, count],
  );
  return row?.job_id ?? '';
}

/** Each item gets a lease of its own. */
const hold = async (type: string, count: number) => {
  const rows = await db.query<{ lease_id: string }>(
    `select lease_id from jobtree.claim_items(array_fill('w'::text, array[$2::int]), array_fill($1::text, array[$2::int]),
       array_fill(1, array[$2::int])) where lease_id is not null`,
    [type, count],
  );
  expect(rows).toHaveLength(count);
  return rows.map(({ lease_id }) => lease_id);
};
const limit = (type: string) =>
  db.query('select jobtree.set_queue($1, $2)', [type, '{"concurrency": 1000000}']);

/** How many blocks a statement reads, with all that it calls, in a session that has its plans; it is rolled back. */
async function blocks(act: (database: Database) => Promise<unknown>): Promise<number> {
  const client = await db.connect();
  let read = 0;
  const query = async ({ text, values }: pg.QueryConfig) => {
    const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, values);
    read = rows[0]['QUERY PLAN'][0].Plan['Shared Hit Blocks'];
    return { rows: [] };
  };
  try {
    for (let i = 0; i < 2; i++) {
      await client.query('begin');
      await act({ pool: { query } } as unknown as Database);
      await client.query('rollback');
    }
    return read;
  } finally {
    await client.end();
  }
}
const sql = (text: string) => blocks(({ pool }) => pool.query({ text }));
const claim = (type: string) => sql(`select * from jobtree.claim_items('{w}', '{${type}}', '{1}')`);

describe('a claim of a type with a concurrency limit', () => {
  it('costs the same, whether few or many leases of the type are open', async () => {
    await job('open', many + 20);
    await limit('open');
    await hold('open', few);
    // The limit is new, and all leases are looked at, until the transactions from before it have ended, in whichever database.
    const isNew = `select from jobtree.queue where type = 'open' and limited_by > pg_snapshot_xmin(pg_current_snapshot())`;
    await expect.poll(() => db.query(isNew)).toEqual([]);
    await hold('open', 1);
    const before = await claim('open');
    await hold('open', many - few);
    expect(await claim('open')).toBeLessThan(factor * before);
    expect(await sql(`select * from jobtree.queue_rooms('{open}')`)).toBeLessThan(before);
  });

  it('costs the same under an old snapshot, however many were claimed and ended since', async () => {
    await job('ended', 3_000);
    await limit('ended');
    await hold('ended', 10);
    const before = await claim('ended');
    const old = await db.connect();
    try {
      await old.query('begin isolation level repeatable read');
      // A session that writes, too, so that its transaction has an id.
      await old.query(`insert into jobtree.queue (type, priority) values ('other', 1)`);
      await db.query(`do $$
        declare v_leases uuid[];
        begin
          for i in 1 .. 300 loop
            select array_agg(c.lease_id) into v_leases
            from jobtree.claim_items('{w,w}', '{ended,ended}', '{1,1}') c where c.lease_id is not null;
            perform jobtree.report_results(v_leases, '{1,1}', '[1,1]');
            commit;
          end loop;
        end $$`);
      expect(await claim('ended')).toBeLessThan(factor * before);
    } finally {
      await old.end();
    }
  });
});

describe('heartbeats', () => {
  it('change no index', async () => {
    await job('beating', 1_000);
    const leases = await hold('beating', 1_000);
    const client = await db.connect();
    /** `moved`: to another page, for want of room on its own. Before version 16 Postgres does not count these. */
    const updates = async () => {
      await client.query('select pg_stat_force_next_flush()');
      const { rows } = await client.query<{ all: number; hot: number; moved: number }>(
        `select n_tup_upd::int as all, n_tup_hot_upd::int as hot,
           coalesce((to_jsonb(t) ->> 'n_tup_newpage_upd')::int, (n_tup_upd - n_tup_hot_upd)::int) as moved
         from pg_stat_user_tables t where relname = 'lease'`,
      );
      return rows[0] ?? { all: 0, hot: 0, moved: 0 };
    };
    try {
      const before = await updates();
      await client.query(
        `select * from jobtree.keep_leases($1, array_fill(jobtree.bit_at(1), array[1000]), array_fill(jobtree.bit_at(1), array[1000]))`,
        [leases],
      );
      const after = await updates();
      expect(after.all - before.all).toBe(1_000);
      // Whatever has room on its page touches no index, and pages of which a part is kept free have room for most.
      expect(after.hot - before.hot + after.moved - before.moved).toBe(1_000);
      expect(after.hot - before.hot).toBeGreaterThan(500);
    } finally {
      await client.end();
    }
  });

  it('are seen by the sweep, which comes back at the deadline of the last one, and takes the lease then', async () => {
    await job('swept', 1);
    const [lease] = await hold('swept', 1);
    const set = (change: string) => db.query(`update jobtree.lease set ${change} where id = $1`, [lease]);
    const sweep = async () =>
      (await db.query<{ lost: number }>('select lost from jobtree.sweep_leases()'))[0]?.lost;
    const looks = async () =>
      (
        await db.query(
          `select check_at = heartbeat_at + interval '3 minutes' as "isAtDeadline", check_at is null as "isOver" from jobtree.lease where id = $1`,
          [lease],
        )
      )[0];
    await set(`check_at = now() - interval '1 s', heartbeat_at = heartbeat_at - interval '170 s'`);
    expect([await sweep(), await looks()]).toEqual([0, { isAtDeadline: true, isOver: false }]);
    await set(`check_at = check_at - interval '10 s', heartbeat_at = heartbeat_at - interval '10 s'`);
    expect([await sweep(), await looks()]).toEqual([1, { isAtDeadline: null, isOver: true }]);
  });
});

describe("others' leases cost nothing", () => {
  const calls: Record<string, (jobId: string) => Promise<number>> = {
    'a page of running items': (jobId) =>
      blocks((database) =>
        readItemKeys(database, ['RUNNING'], false, [{ jobId, range: { take: 20, backwards: false } }]),
      ),
    'the last page of running items': (jobId) =>
      blocks((database) =>
        readItemKeys(database, ['RUNNING'], true, [{ jobId, range: { take: 20, backwards: true } }]),
      ),
    'counting what cancelling running items would': (jobId) =>
      sql(`select jobtree.start_operation('CANCEL', '{"jobId": "${jobId}", "statuses": ["RUNNING"]}')`),
    'cancelling running items': (jobId) =>
      sql(
        `select jobtree.run_operation(o.operation_id) from jobtree.start_operation('CANCEL', '{"jobId": "${jobId}", "statuses": ["RUNNING"]}') o`,
      ),
  };
  let own = '';
  const before: Record<string, number> = {};
  beforeAll(async () => {
    own = await job('own', 50);
    await hold('own', 50);
    for (const [name, call] of Object.entries(calls)) before[name] = await call(own);
    await job('strange', strangers);
    await hold('strange', strangers);
    await db.query('analyze');
  });

  it.each(Object.entries(calls))('for %s', async (name, call) => {
    expect(await call(own)).toBeLessThan(factor * (before[name] ?? 0));
  });
});

it('cancelling a job costs the same, however many of its leases have ended', async () => {
  const jobId = await job('long', strangers + 1);
  await hold('long', 1);
  const cancel = () => sql(`select jobtree.cancel_job('${jobId}')`);
  const before = await cancel();
  const leases = await hold('long', strangers);
  for (let i = 0; i < strangers; i += 1_000) {
    await db.query(
      'select jobtree.report_results($1, array_fill(1, array[1000]), array_to_json(array_fill(1, array[1000])))',
      [leases.slice(i, i + 1_000)],
    );
  }
  // Without the versions that they replaced, which whoever reads first passes over.
  await db.query('vacuum jobtree.lease');
  expect(await cancel()).toBeLessThan(before + 100);
});

it('a step of cancelling costs the same, however many keys the job has left to be passed on', async () => {
  const own = await job('keyed', 50);
  await db.query('select jobtree.cancel_job($1, 0)', [own]);
  const step = () => sql(`select * from jobtree.cancel_items('${own}', 0, 10)`);
  const before = await step();
  await db.query(
    `insert into jobtree.ended_head (job_id, position, key, held)
     select $1, -n, 'key ' || n, false from generate_series(1, $2::int) n`,
    [own, strangers],
  );
  await db.query('analyze');
  expect(await step()).toBeLessThan(factor * before);
});
