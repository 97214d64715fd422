import { describe, expect, it } from 'vitest';
import type { Queries, Statement } from '../../../src/db/database.ts';
import { coveredTypes } from '../../../src/domain/access/scoped-reads.ts';
import { claimItem } from '../../../src/domain/claims/claim-item.ts';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { exchange } from '../../../src/domain/claims/exchange.ts';
import { readHeldItems } from '../../../src/domain/claims/held-items.ts';
import { releaseAssignments } from '../../../src/domain/claims/release-assignments.ts';
import { Figures, pruneFigures, restOfTypes, sumOf } from '../../../src/domain/figures/figures.ts';
import { readFigures } from '../../../src/domain/figures/read-figures.ts';
import { countSlow } from '../../../src/domain/figures/slow-items.ts';
import {
  readQueue,
  readQueues,
  readQueueTotal,
  setQueue,
  tendQueues,
} from '../../../src/domain/queues/queues.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { toStored } from '../../../src/domain/values/tenants.ts';
import { newType, useEngine } from '../../support/engine.ts';

const t = useEngine();
const items = (count: number) => Array.from({ length: count }, (_, i) => ({ payload: i }));

/** Of the last five minutes, as the engine's server sees it. */
async function figuresOf(type: string, engine = t.engine) {
  const [[span] = []] = await readFigures(engine, [[type]], 5);
  if (span === undefined) throw new Error('There are no figures.');
  const { claimed, succeeded, failed, lost, dead, wait, took } = span.tally;
  return { claimed, succeeded, failed, lost, dead, waits: wait.count, times: took.count, wait, took };
}

/** Has what is ready be ready since so long ago. */
const readySince = (type: string, ms: number) =>
  t.db.query(
    `update jobtree.queue_entry set ready_at = clock_timestamp() - $2 * interval '1 ms' where type = $1`,
    [type, ms],
  );

/** Has leases of the type be claimed so long ago. */
const heldSince = (type: string, ms: number) =>
  t.db.query(
    `update jobtree.lease l set claimed_at = clock_timestamp() - $2 * interval '1 ms'
     from jobtree.job j where j.id = l.job_id and j.type = $1`,
    [type, ms],
  );

const claim = (type: string, limit: number) => claimItems(t.engine, 'worker', [{ type, limit }]);
const succeed = (assignments: readonly { readonly id: string }[]) =>
  reportOutcomes(
    t.engine,
    assignments.map(({ id }) => ({ assignmentId: id, result: null })),
  );
const fail = (assignments: readonly { readonly id: string }[], permanent = false) =>
  reportOutcomes(
    t.engine,
    assignments.map(({ id }) => ({ assignmentId: id, failure: { code: 'BAD', message: 'no', permanent } })),
  );

describe('figures count', () => {
  it('claims with their wait, and reports with their duration', async () => {
    const type = newType('figures');
    await t.create({ type, items: items(10), maxFailuresPerItem: 3, backoffMs: [] });
    await readySince(type, 2_000);
    const first = await claim(type, 6);
    await heldSince(type, 500);
    await succeed(first.slice(0, 4));
    await fail(first.slice(4, 5));
    await fail(first.slice(5), true);
    const { wait, took, ...counts } = await figuresOf(type);
    expect(counts).toEqual({ claimed: 6, succeeded: 4, failed: 2, lost: 0, dead: 1, waits: 6, times: 6 });
    for (const [histogram, ms] of [
      [wait, 2_000],
      [took, 500],
    ] as const) {
      expect(histogram.quantileMs(0.5)).toBeGreaterThan(ms * 0.8);
      expect(histogram.quantileMs(0.5)).toBeLessThan(ms * 20);
    }
  });

  it('reports of several leases, of several types, of feeding jobs and of new items', async () => {
    const [a, b, c] = [newType('a'), newType('b'), newType('c')];
    await t.create({ type: a, items: items(4), children: [{ type: c, feed: {} }] });
    await t.create({ type: b, items: items(2) });
    const held = [...(await claim(a, 1)), ...(await claim(a, 1)), ...(await claim(b, 2))];
    await succeed(held);
    const [last] = await claim(a, 1);
    await reportOutcomes(t.engine, [
      { assignmentId: last?.id ?? '', result: 1, newItems: [{ type: c, payload: 1 }] },
    ]);
    expect(await figuresOf(a)).toMatchObject({ claimed: 3, succeeded: 3, times: 3 });
    expect(await figuresOf(b)).toMatchObject({ claimed: 2, succeeded: 2, times: 2 });
  });

  it('exchanges, and named claims', async () => {
    const type = newType('exchanged');
    const { [type]: jobId = '' } = await t.create({ type, items: items(3) });
    const [first, second] = await t.items(jobId);
    const named = await claimItem(t.engine, second ?? { jobId, position: 0 }, 'worker');
    const reports = [{ assignmentId: named.id, result: null }];
    const done = await exchange(t.engine, reports, { worker: 'worker', requests: [{ type, limit: 1 }] });
    expect(done.assignments[0]?.itemId).toContain(String(first?.position));
    expect(await figuresOf(type)).toMatchObject({ claimed: 2, succeeded: 1 });
  });

  it('each report once, and no duplicate, stale or invalid one', async () => {
    const type = newType('once');
    await t.create({ type, items: items(2) });
    const held = await claim(type, 2);
    await succeed(held.slice(0, 1));
    await succeed(held.slice(0, 1));
    await fail(held.slice(0, 1));
    await releaseAssignments(t.engine, [held[1]?.id ?? '']);
    await succeed(held.slice(1));
    expect(await figuresOf(type)).toMatchObject({ claimed: 2, succeeded: 1, failed: 0, times: 1 });
  });

  it('lost heartbeats, without a duration, and expired items', async () => {
    const [lost, old] = [newType('lost'), newType('old')];
    await t.create({ type: lost, items: items(2), maxFailuresPerItem: 0 });
    const [one] = await claim(lost, 1);
    await t.expire(one?.id ?? '');
    await t.sweep();
    expect(await figuresOf(lost)).toMatchObject({ failed: 1, lost: 1, dead: 1, times: 0 });

    await setQueue(t.engine, old, { lifetimeMs: 1 });
    await t.create({ type: old, items: items(3), runAt: new Date(0) });
    await t.sweep();
    while (await tendQueues(t.engine));
    expect(await figuresOf(old)).toMatchObject({ claimed: 0, failed: 0, dead: 3 });
  });
});

describe('the time since when items are ready', () => {
  const waits = async (type: string) =>
    (
      await t.db.query<{ ms: number }>(
        `select (extract(epoch from clock_timestamp() - ready_at) * 1000)::float8 as ms
         from jobtree.queue_entry where type = $1 order by position`,
        [type],
      )
    )
      // A clock that is set back a little makes it less than nothing.
      .map(({ ms }) => Math.max(0, Math.round(ms / 10_000) * 10));

  it('is kept for the rest of an entry, whatever is taken from it', async () => {
    const type = newType('rest');
    const { [type]: jobId = '' } = await t.create({ type, items: items(100) });
    await readySince(type, 60_000);
    await claim(type, 10);
    const keys = await t.items(jobId);
    await claimItem(t.engine, keys[50] ?? { jobId, position: 0 }, 'worker');
    expect(await waits(type)).toEqual([60, 60]);
    const large = newType('large');
    await t.create({ type: large, items: Array(4).fill({ payload: 'x'.repeat(40_000) }) });
    await readySince(large, 60_000);
    await claim(large, 1);
    expect(await waits(large)).toEqual([60]);
  });

  it('is the due time of scheduled items, and the present for items that come back', async () => {
    const type = newType('due');
    await t.create({ type, items: items(2), runAt: new Date(Date.now() + 3_600_000) });
    await t.db.query(
      `update jobtree.queue_entry set run_at = clock_timestamp() - interval '30 seconds', ready_at = clock_timestamp() - interval '1 hour'
       where type = $1`,
      [type],
    );
    await t.sweep();
    expect(await waits(type)).toEqual([30]);
    const held = await claim(type, 2);
    await releaseAssignments(
      t.engine,
      held.map(({ id }) => id),
    );
    expect(await waits(type)).toEqual([0]);
    expect((await readQueue(t.engine, type)).oldestReadyMs).toBeLessThan(20_000);
  });
});

describe('figures of other servers', () => {
  it("include everything saved, plus the server's own unsaved part", async () => {
    const type = newType('saved');
    await t.create({ type, items: items(5) });
    await succeed(await claim(type, 2));
    expect(await figuresOf(type, t.otherEngine)).toMatchObject({ claimed: 0 });
    await t.engine.figures.save(t.engine.database);
    await succeed(await claim(type, 1));
    await claimItems(t.otherEngine, 'worker', [{ type, limit: 1 }]);
    expect(await figuresOf(type)).toMatchObject({ claimed: 3, succeeded: 3 });
    expect(await figuresOf(type, t.otherEngine)).toMatchObject({ claimed: 3, succeeded: 2 });
    await t.engine.figures.save(t.engine.database);
    await t.otherEngine.figures.save(t.engine.database);
    for (const engine of [t.engine, t.otherEngine])
      expect(await figuresOf(type, engine)).toMatchObject({ claimed: 4, succeeded: 3, waits: 4, times: 3 });
    expect(
      await t.db.query(`select count(*)::int as rows from jobtree.figure where type = $1`, [type]),
    ).toEqual([{ rows: 2 }]);
  });

  it('are saved at the next attempt after an error, and counted once if they were saved twice', async () => {
    const type = newType('retried');
    const figures = new Figures();
    const { database } = t.engine;
    figures.claimed(type, 5, 1);
    let calls = 0;
    const failing = {
      ...database,
      call: async (what: Statement, ...values: unknown[]) => {
        const rows = await database.call(what, ...values);
        // What the second one writes is written, but nobody hears of it.
        if (++calls === 2) throw new Error('the connection broke');
        return rows;
      },
    };
    await expect(figures.save(failing as never)).rejects.toThrow('the connection broke');
    figures.claimed(type, 5, 1);
    await figures.save(database);
    expect(await figuresOf(type, { ...t.engine, figures: new Figures() })).toMatchObject({ claimed: 2 });
  });

  it('have a step for each period, the last one including unsaved figures', async () => {
    const type = newType('history');
    await t.create({ type, items: items(3) });
    await t.db.query(
      `insert into jobtree.figure
       select $1, date_trunc('minute', clock_timestamp()) - m * interval '1 minute', gen_random_uuid(), m, 0, 0, 0, 0, '{3}', array[m], '{}', '{}'
       from unnest('{10, 50, 1430}'::int[]) m`,
      [type],
    );
    await claim(type, 3);
    const [steps = []] = await readFigures(t.engine, [[type]], 60, 5);
    expect(steps).toHaveLength(12);
    expect(steps.reduce((sum, { tally }) => sum + tally.claimed, 0)).toBe(63);
    expect(steps.at(-1)?.tally.claimed).toBe(3);
    expect(steps.find(({ tally }) => tally.claimed === 50)?.tally.wait.quantileMs(0.5)).toBe(3);
    for (const [i, { from }] of steps.entries()) {
      expect(from.getTime() % 300_000).toBe(0);
      expect(from).toEqual(steps[i - 1]?.until ?? from);
    }
    const [day = []] = await readFigures(t.engine, [[type]], 1_440, 5);
    expect(day.reduce((sum, { tally }) => sum + tally.claimed, 0)).toBe(1_493);
  });

  it('list types with activity in the last hour as queues', async () => {
    const prefix = newType('worked');
    const row = `select $1, clock_timestamp() - $2::interval, gen_random_uuid(), 1, 0, 0, 0, 0, '{}', '{}', '{}', '{}'`;
    await t.db.query(`insert into jobtree.figure ${row}`, [`${prefix} new`, '50 minutes']);
    await t.db.query(`insert into jobtree.figure ${row}`, [`${prefix} old`, '70 minutes']);
    t.otherEngine.figures.claimed(`${prefix} now`, 1, 1);
    const read = (engine = t.engine) => readQueues(engine, null, { after: prefix, take: 2 });
    expect((await read()).map(({ type }) => type)).toEqual([`${prefix} new`]);
    expect((await read(t.otherEngine)).map(({ type }) => type)).toEqual([`${prefix} new`, `${prefix} now`]);
    const named = [`${prefix} old`, `${prefix} new`, `${prefix} now`, `${prefix} none`];
    expect((await readQueues(t.otherEngine, named)).map(({ type }) => type)).toEqual([
      `${prefix} new`,
      `${prefix} now`,
    ]);
  });

  it('are removed after two days', async () => {
    const type = newType('pruned');
    await t.db.query(
      `insert into jobtree.figure
       select $1, clock_timestamp() - h * interval '1 hour', gen_random_uuid(), 1, 0, 0, 0, 0, '{}', '{}', '{}', '{}'
       from unnest('{1, 47, 49, 50}'::int[]) h`,
      [type],
    );
    await pruneFigures(t.engine.database);
    expect(
      await t.db.query('select count(*)::int as rows from jobtree.figure where type = $1', [type]),
    ).toEqual([{ rows: 2 }]);
  });

  it('count types beyond the first thousand together, and none less in the sum of all', async () => {
    const figures = new Figures();
    for (let i = 0; i < 1_100; i++) figures.claimed(`type ${i}`, 1, 1);
    expect(figures.totals.size).toBe(1_001);
    expect(figures.totals.get(restOfTypes)?.claimed).toBe(100);
    expect(figures.unsaved[0]?.tallies.size).toBe(1_000);
    const read = async (name: string) => {
      const [[span] = []] = await readFigures({ ...t.engine, figures }, [[name]], 1);
      return span?.tally.claimed;
    };
    const saved = (await read(sumOf(null))) ?? 0;
    expect(saved).toBeGreaterThanOrEqual(1_100);
    await figures.save(t.engine.database);
    expect(await read(sumOf(null))).toBe(saved);
  });

  it('of several types together are those of each added up; a tenant has a sum of its own, which no list shows as a type', async () => {
    const tenant = `t${newType('').replaceAll(/\W/g, '')}`.toLowerCase().slice(0, 40);
    const figures = new Figures();
    const types = ['one', 'two', 'three'].map((name) => toStored(tenant, name));
    for (const [i, type] of types.entries()) {
      figures.claimed(type, 100, 10 ** i);
      figures.ended([[type, 1_000, 10 ** i, 0, 0]]);
    }
    const source = { ...t.engine, figures };
    const read = async () => {
      const sets = [types.slice(0, 2), [sumOf(tenant)], [types[0] ?? '', types[0] ?? '']];
      const found = await readFigures(source, sets, 60, 60);
      return found.map((spans) => spans.at(-1)?.tally);
    };
    for (const tallies of [await read(), await figures.save(t.engine.database).then(read)]) {
      expect(tallies.map((tally) => tally?.claimed)).toEqual([11, 111, 1]);
      expect(tallies.map((tally) => tally?.wait.octaves())).toEqual([[[64, 11]], [[64, 111]], [[64, 1]]]);
      expect(tallies.map((tally) => tally?.took.octaves())).toEqual([[[512, 11]], [[512, 111]], [[512, 1]]]);
    }
    const listed = await readQueues(t.engine, null, { after: sumOf(tenant).slice(0, -1), take: 3 });
    expect(listed.map(({ type }) => type)).toEqual(types.toSorted());
    const scope = { tenant, types: [`${tenant}//*`], rootIds: null };
    expect(await coveredTypes(t.engine.database, scope, null)).toEqual(types.toSorted());
    const across = { tenant: null, types: [`${tenant}//*`], rootIds: null };
    expect(await coveredTypes(t.engine.database, across, null)).toEqual(types.toSorted());
  });

  it('of sums that together have many types are read in turn with other reads of everything, as one large sum is', async () => {
    const { pool, surveys }: Queries = t.engine.database;
    const readBy = async (sets: string[][]) => {
      const by: string[] = [];
      const noted = (name: string, { query }: Queries['pool']): Queries['pool'] => ({
        query: (statement) => {
          by.push(name);
          return query(statement);
        },
      });
      const database = {
        pool: noted('pool', { query: (statement) => pool.query(statement) }),
        surveys: noted('surveys', { query: (statement) => surveys.query(statement) }),
      };
      await readFigures({ ...t.engine, database: database as never }, sets, 5);
      return by;
    };
    const names = (count: number, of = 'type') => Array.from({ length: count }, (_, i) => `${of} ${i}`);
    expect(await readBy([names(101)])).toEqual(['surveys']);
    expect(await readBy(names(20, 'set').map((set) => names(50, set)))).toEqual(['surveys']);
    // Each costs its request as much as it is.
    expect(await readBy(names(1_000).map((name) => [name]))).toEqual(['pool']);
    expect(await readBy([names(50), names(50)])).toEqual(['pool']);
  });

  it('have totals of all queues that a list has, of those that are named, and of those whose names contain a text', async () => {
    const prefix = newType('Total');
    const [mail, print] = [`${prefix} mail`, `${prefix} print`];
    await t.create({ type: mail, items: items(5) });
    await t.create({ type: print, items: items(3), runAt: new Date(Date.now() + 3_600_000) });
    await claim(mail, 2);
    await setQueue(t.engine, `${prefix} settings`, { priority: 1 });
    const read = (search: string | null, types: string[] | null = null) =>
      readQueueTotal(t.engine, types, { search });
    expect(await read(prefix.toLowerCase())).toMatchObject({
      typeCount: 3,
      ready: 3,
      running: 2,
      scheduled: 3,
      retrying: 0,
      types: [mail, print, `${prefix} settings`],
    });
    expect(await read(`${prefix} m`)).toMatchObject({ typeCount: 1, ready: 3, scheduled: 0, types: [mail] });
    expect(await read(null, [print])).toMatchObject({
      typeCount: 1,
      ready: 0,
      scheduled: 3,
      oldestReadyMs: null,
    });
    expect(await read(`${prefix} none`)).toMatchObject({ typeCount: 0, ready: 0, types: [] });
    expect((await readQueues(t.engine, null, { search: `${prefix} p` })).map(({ type }) => type)).toEqual([
      print,
    ]);
    const all = await read(null);
    const each = await readQueues(t.engine, null);
    expect(all.typeCount).toBe(each.length);
    expect(all.ready).toBe(each.reduce((sum, { ready }) => sum + ready, 0));
  });
});

describe('slow items', () => {
  /** Has so many attempts have taken so long. */
  const usual = (type: string, count: number, ms: number) =>
    t.engine.figures.ended(Array.from({ length: count }, () => [type, ms, 1, 0, 0] as const));

  it('are held for longer than three times the p99 of their type, and for at least ten seconds', async () => {
    const [slow, quick] = [newType('slow'), newType('quick')];
    usual(slow, 100, 20_000);
    usual(quick, 100, 10);
    const limits = await t.engine.slowAfter.of(t.engine, [slow, quick]);
    expect(limits).toEqual([expect.any(Number), 10_000]);
    expect(limits[0]).toBeGreaterThan(60_000 * 0.875);
    expect(limits[0]).toBeLessThan(60_000 * 1.125);
    const read = async () => ({
      counts: await countSlow(t.engine, [slow, quick]),
      held: (await readHeldItems(t.engine, { types: [slow, quick], workers: null, slowOnly: true }, 10)).map(
        ({ type }) => type,
      ),
    });
    for (const type of [slow, quick]) {
      await t.create({ type, items: items(2) });
      const [done] = await claim(type, 2);
      await succeed(done ? [done] : []);
      await heldSince(type, 9_000);
    }
    expect(await read()).toEqual({ counts: new Map(), held: [] });
    await heldSince(slow, 12_000);
    await heldSince(quick, 12_000);
    expect(await read()).toEqual({ counts: new Map([[quick, 1]]), held: [quick] });
    await heldSince(slow, 80_000);
    expect(await read()).toEqual({
      counts: new Map([
        [quick, 1],
        [slow, 1],
      ]),
      held: [slow, quick],
    });
  });

  it('require enough data about their type', async () => {
    const type = newType('unknown');
    usual(type, 19, 10);
    await t.create({ type, items: items(1) });
    await claim(type, 1);
    await heldSince(type, 3_600_000);
    expect(await countSlow(t.engine, [type])).toEqual(new Map());
    const held = await readHeldItems(t.engine, { types: [type], workers: ['worker'], slowOnly: false }, 10);
    expect(held).toMatchObject([{ type, worker: 'worker', attempt: 1 }]);
    expect(held[0]?.heldMs).toBeGreaterThan(3_599_000);
    expect(await readHeldItems(t.engine, { types: [type], workers: ['x'], slowOnly: false }, 10)).toEqual([]);
  });
});
