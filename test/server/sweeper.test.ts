/** What the sweeper finds on its own: leftovers of servers that died, and of transactions that took long. */
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { findUnfolded, recordSweep, sweepLeases } from '../../src/domain/claims/sweep.ts';
import { createEngine } from '../../src/domain/create-engine.ts';
import type { Engine } from '../../src/domain/engine/engine.ts';
import { createJob } from '../../src/domain/jobs/create-job.ts';
import { Sweeper } from '../../src/server/loops/sweeper.ts';
import { newType, useEngine } from '../support/engine.ts';
import { anyRow } from '../support/locks.ts';

const t = useEngine();
let sweeper: Sweeper | undefined;
const sweep = (engine: Engine = t.engine) => {
  sweeper = new Sweeper({ engine, intervalMs: 10, logger: pino({ level: 'silent' }) });
  sweeper.start();
};
/** Servers have been looking for lost heartbeats all the time, so what is past its deadline may be taken back. */
const noGap = () =>
  t.db.query(`update jobtree.watch set swept_at = clock_timestamp(), resumed_at = '-infinity'`);
beforeEach(noGap);
afterEach(async () => {
  await sweeper?.stop();
  sweeper = undefined;
});

const lost = (id: string) =>
  anyRow(t.db, `select from jobtree.assignment where id = $1 and state = 'LOST'`, [id]);
const expire = (id: string, ago: string) =>
  t.db.query(
    `update jobtree.lease set check_at = clock_timestamp() - $2::interval, heartbeat_at = to_timestamp(0) where id = jobtree.lease_id($1)`,
    [id, ago],
  );
const cancelled = (job: string) =>
  anyRow(t.db, 'select from jobtree.job where id = $1 and cancelled_at is not null and not cancelling', [
    job,
  ]);

describe('the sweeper', () => {
  it('finishes a cancellation that was begun, in as many batches as it takes', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type });
    await t.db.query(
      `select jobtree.add_items($1, (select json_agg(json_build_object('payload', n, 'priority', n % 2)) from generate_series(1, 2500) n))`,
      [job],
    );
    await t.claimOne(type);
    await t.db.query('select * from jobtree.cancel_job($1, 1)', [job]);
    expect(await t.db.query('select from jobtree.job where id = $1 and cancelling', [job])).toHaveLength(1);
    sweep();
    await cancelled(job);
    expect((await t.fold(job))[type]).toMatchObject({ cancelled: 2_500, completedAt: expect.any(Number) });
  });

  it('is woken as often as there is something to finish, and leaks nothing', async () => {
    const warnings: string[] = [];
    const note = ({ name, message }: Error) => {
      if (name === 'MaxListenersExceededWarning') warnings.push(message);
    };
    process.on('warning', note);
    onTestFinished(() => void process.off('warning', note));
    sweeper = new Sweeper({ engine: t.engine, intervalMs: 60_000, logger: pino({ level: 'silent' }) });
    sweeper.start();
    for (let i = 0; i < 12; i++) {
      const type = newType();
      const { [type]: job = '' } = await t.create({ type, items: [{ priority: 1 }, {}] });
      await t.db.query('select * from jobtree.cancel_job($1, 1)', [job]);
      sweeper.poke();
      await cancelled(job);
    }
    expect(warnings).toEqual([]);
  });

  it('finishes a deletion that was begun', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: [{}, {}] });
    await t.claimOne(type);
    await t.db.query('select jobtree.delete_job($1)', [job]);
    sweep();
    await anyRow(t.db, 'select 1 where not exists (select from jobtree.job where id = $1)', [job]);
    expect(await t.db.query('select from jobtree.job_item where job_id = $1', [job])).toEqual([]);
  });

  it('finds any lease without heartbeats when it starts, however old', async () => {
    const type = newType();
    await t.create({ type, items: [{}] });
    const { id } = await t.claimOne(type);
    await expire(id, '100 days');
    sweep();
    await lost(id);
  });

  it('skips a lease that a long transaction has locked, and finds it afterwards', async () => {
    const type = newType();
    await t.create({ type, items: [{}, {}] });
    const [{ id }, seen] = [await t.claimOne(type), await t.claimOne(type)];
    await expire(id, '1 minute');
    await expire(seen.id, '1 second');
    const other = await t.db.connect();
    await other.query('begin');
    await other.query('select from jobtree.lease where id = jobtree.lease_id($1) for update', [id]);
    sweep();
    // The sweep that took this one back has passed by the other.
    await lost(seen.id);
    await other.query('rollback');
    await other.end();
    await lost(id);
  });

  it('gives every lease a full lease time after a gap without sweeps', async () => {
    const type = newType();
    await t.create({ type, heartbeatIntervalMs: 60_000, items: [{}] });
    const { id } = await t.claimOne(type);
    await expire(id, '1 minute');
    await t.db.query(`update jobtree.watch set swept_at = clock_timestamp() - interval '3 seconds'`);
    // What it does after it has looked at leases, so that is over.
    const due = newType('due');
    await t.create({ type: due, items: [{ runAt: new Date(Date.now() + 100) }] });
    sweep();
    await anyRow(t.db, 'select from jobtree.queue_entry where type = $1 and run_at is null', [due]);
    expect(
      await t.db.query('select from jobtree.failure where lease_id = jobtree.lease_id($1)', [id]),
    ).toEqual([]);
    await noGap();
    await lost(id);
  });

  it('gives every lease a full lease time, too, while another server is about to note the gap', async () => {
    const type = newType();
    await t.create({ type, heartbeatIntervalMs: 60_000, items: [{}] });
    const { id } = await t.claimOne(type);
    await expire(id, '1 minute');
    await t.db.query(`update jobtree.watch set swept_at = clock_timestamp() - interval '3 seconds'`);
    const other = await t.db.connect();
    onTestFinished(() => other.end());
    await other.query('begin');
    await other.query('select from jobtree.watch for update');
    const { lost } = await sweepLeases(t.engine, await recordSweep(t.engine, 2_000));
    expect(lost).toBe(0);
    await other.query('rollback');
    await noGap();
    expect(await sweepLeases(t.engine, await recordSweep(t.engine, 2_000))).toMatchObject({ lost: 1 });
  });
});

describe('a part of the sweep that takes very long', () => {
  /** Makes every call of the function last until what this resolves to is called, once the sweeper is in such a call. */
  async function stall(signature: string, returns: string) {
    const [name] = signature.split('(') as [string];
    await t.db.query(`alter function jobtree.${signature} rename to ${name}_whole`);
    await t.db.query(`
      create function jobtree.${signature} returns ${returns} language plpgsql as $$
      begin
        while exists (select from pg_proc where proname = '${name}_whole') loop
          perform pg_sleep(0.01);
        end loop;
      end $$`);
    sweep();
    await anyRow(
      t.db,
      `select from pg_stat_activity where state = 'active' and pid <> pg_backend_pid() and query like '%' || $1 || '%'`,
      [name],
    );
    return () =>
      t.db.query(
        `drop function jobtree.${signature}; alter function jobtree.${signature.replace('(', '_whole(')} rename to ${name}`,
      );
  }

  it('passing on serialize keys: items of lost workers are taken back meanwhile', async () => {
    const type = newType();
    await t.create({ type, items: [{}] });
    const { id } = await t.claimOne(type);
    const end = await stall(
      'promote_blocked(text, integer)',
      'table (promoted integer, next_from text, ready jsonb)',
    );
    await expire(id, '1 second');
    await lost(id);
    await end();
  });

  it('making due items ready: it does not count as a gap without sweeps', async () => {
    const end = await stall(
      'promote_due(integer, interval, text)',
      'table (promoted integer, ready jsonb, more boolean, last_type text)',
    );
    await t.db.query(`update jobtree.watch set swept_at = clock_timestamp() - interval '1 second'`);
    await anyRow(
      t.db,
      `select from jobtree.watch where swept_at > clock_timestamp() - interval '500 milliseconds' and resumed_at = '-infinity'`,
      [],
    );
    await end();
  });
});

/** An engine of its own, that keeps whose deltas were found, and of which types there may be work. */
function watchedEngine() {
  const touched = new Set<string>();
  const ready = new Set<string>();
  const { database, limits, callbackAddresses, retention, logger, logPayloads, durableClaims } = t.engine;
  const engine = createEngine({
    database,
    limits,
    callbackAddresses,
    retention,
    logger,
    logPayloads,
    durableClaims,
    slowness: { factor: 3, afterMs: 10_000 },
    effects: {
      ...t.engine.effects,
      touched: (rootId) => void touched.add(rootId),
      ready: (counts) => {
        for (const type of counts.keys()) ready.add(type);
      },
    },
  });
  return { engine, touched, ready };
}

describe('a part of the sweep that fails', () => {
  /** Of each part: the function that it calls, something for it to do, and how to see that it was done. */
  const parts: Record<
    string,
    { calls: string; prepare: (sweeping: ReturnType<typeof watchedEngine>) => Promise<() => Promise<void>> }
  > = {
    'lost heartbeats': {
      calls: 'sweep_leases(timestamptz, integer, interval)',
      prepare: async () => {
        const type = newType();
        await t.create({ type, items: [{}] });
        const { id } = await t.claimOne(type);
        await expire(id, '1 second');
        return () => lost(id);
      },
    },
    'due items': {
      calls: 'promote_due(integer, interval, text)',
      prepare: async () => {
        const type = newType();
        await t.create({ type, items: [{ runAt: new Date(Date.now() + 50) }] });
        return () =>
          anyRow(t.db, 'select from jobtree.queue_entry where type = $1 and run_at is null', [type]);
      },
    },
    'serialize keys': {
      calls: 'promote_blocked(text, integer)',
      prepare: async () => {
        const [type, serializeKey] = [newType(), newType('key')];
        const { [type]: job = '' } = await t.create({ type, items: [{ serializeKey }] });
        const next = newType();
        await t.create({ type: next, items: [{ serializeKey }] });
        await t.db.query('select * from jobtree.cancel_job($1)', [job]);
        return () => anyRow(t.db, 'select from jobtree.queue_entry where type = $1', [next]);
      },
    },
    'unfolded trees': {
      calls: 'unfolded_trees(bigint, bigint, integer)',
      prepare: async ({ engine, touched }) => {
        // The server that made it would have folded it; an item without settings is counted at once.
        const { jobId } = await createJob(t.engine, { type: newType(), items: [{ priority: 1 }] });
        expect(engine).not.toBe(t.engine);
        return () => expect.poll(() => touched.has(jobId)).toBe(true);
      },
    },
    'missed entries': {
      calls: 'missed_entries(text[], integer[], bigint[])',
      prepare: async ({ engine, ready }) => {
        const type = newType();
        const { [type]: job = '' } = await t.create({ type, items: [{}] });
        // So that no other part hints at it.
        await t.fold(job);
        const beyond = 2 ** 50;
        engine.lowWater.learn({ type, priority: 0, place: beyond }, engine.lowWater.now());
        // The last claim of this type.
        engine.lowWater.ranges([type]);
        return () => expect.poll(() => ready.has(type)).toBe(true);
      },
    },
    'cancellations and deletions': {
      calls: 'cancel_items(uuid, bigint, integer)',
      prepare: async () => {
        const type = newType();
        const { [type]: job = '' } = await t.create({ type, items: [{ priority: 1 }, { priority: 2 }] });
        await t.db.query('select * from jobtree.cancel_job($1, 1)', [job]);
        return () => cancelled(job);
      },
    },
  };

  it.each(Object.keys(parts))('%s: the others continue, and it is retried', async (broken) => {
    const sweeping = watchedEngine();
    const ends: Record<string, () => Promise<void>> = {};
    for (const [name, { prepare }] of Object.entries(parts)) ends[name] = await prepare(sweeping);
    const { calls } = parts[broken] as { calls: string };
    const [name] = calls.split('(');
    await t.db.query(`alter function jobtree.${calls} rename to ${name}_broken`);
    try {
      sweep(sweeping.engine);
      for (const [part, end] of Object.entries(ends)) if (part !== broken) await end();
    } finally {
      await t.db.query(`alter function jobtree.${calls.replace('(', '_broken(')} rename to ${name}`);
    }
    await ends[broken]?.();
  });
});

it('a search for unfolded trees finds thousands at once, which no server has folded', async () => {
  await t.db.query('delete from jobtree.progress_delta');
  await t.db.query(
    'insert into jobtree.progress_delta (root_id, job_id) select gen_random_uuid(), gen_random_uuid() from generate_series(1, 2500)',
  );
  const { engine, touched } = watchedEngine();
  await findUnfolded(engine, { from: 0, seen: null });
  expect(touched.size).toBe(2_500);
  await t.db.query('delete from jobtree.progress_delta');
});

it('a search for unfolded trees names roots whose deltas are older than the last search, and at first all', async () => {
  const [early, late] = [newType('early'), newType('late')];
  const { [early]: one = '' } = await t.create({ type: early, items: [{ priority: 1 }] });
  const look = async (seen: string | null) => {
    const [row] = await t.db.query<{
      root_ids: string[] | null;
      ready: Record<string, number> | null;
      last_delta: string;
    }>('select * from jobtree.unfolded_trees(0, $1)', [seen]);
    return { roots: row?.root_ids ?? [], ready: row?.ready ?? {}, seen: row?.last_delta ?? null };
  };
  const first = await look(null);
  expect(first.roots).toContain(one);
  const { [late]: two = '' } = await t.create({ type: late, items: [{ priority: 1 }, { priority: 1 }] });
  const second = await look(first.seen);
  expect(second.roots).toContain(one);
  expect(second.roots).not.toContain(two);
  expect(second.ready).toMatchObject({ [late]: 2 });
  await t.fold(one);
  const third = await look(second.seen);
  expect(third.roots).toContain(two);
  expect(third.roots).not.toContain(one);
});
