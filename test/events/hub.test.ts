/** What the hub reads of its own accord takes little of the pool, however slow Postgres is. */
import { setTimeout as delay } from 'node:timers/promises';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { readItemPage, readJobPage } from '../../src/domain/jobs/watched-pages.ts';
import { isNewer, revision } from '../../src/domain/progress/progress.ts';
import { reportOutcomes } from '../../src/domain/reports/report-outcomes.ts';
import { Hub } from '../../src/events/hub.ts';
import { useEngine } from '../support/engine.ts';
import { lockWaiters } from '../support/locks.ts';
import { progressOf } from '../support/progress.ts';
import { createTransport, type TestTransport } from '../support/transport.ts';

const test = useEngine();
let database: Database;
let transport: TestTransport;
let hub: Hub;
beforeEach(async () => {
  database = test.db.open();
  transport = createTransport(test.db.url);
  await transport.transport.start();
  hub = new Hub({ database, transport: transport.transport, logger: pino({ level: 'silent' }) });
});
afterEach(async () => {
  vi.restoreAllMocks();
  hub.close();
  await transport.transport.close();
  await database.close();
});

async function withLock(table: string, act: () => Promise<void>): Promise<void> {
  const lock = await test.db.connect();
  await lock.query(`begin; lock table ${table} in access exclusive mode`);
  await act();
  await lock.query('commit');
  await lock.end();
}

it('watched trees are read again one after the other', async () => {
  const { root = '' } = await test.create({ type: 'root', items: [{}] });
  const live = await hub.watchTree(root, 20);
  await live?.next();
  const connections = database.pool.totalCount;
  await withLock('jobtree.job_progress', async () => {
    for (const random of [0, 0.1, 0.2, 0.3]) {
      vi.spyOn(Math, 'random').mockReturnValue(random);
      hub.reread();
    }
    await lockWaiters(test.db, 1);
    // Until all of them would have begun.
    await delay(300);
    expect(database.pool.totalCount).toBe(connections);
    await test.db.query('select');
  });
  await live?.return();
});

it('any number of pages that wait for Postgres leave connections for others', async () => {
  const { root = '' } = await test.create({ type: 'root', items: [{}] });
  const items = { jobId: root, first: 5, failedOnly: false };
  const jobs = { types: null, rootsOnly: true, first: 5, withTrees: false };
  await withLock('jobtree.job_progress', async () => {
    const reads = Array.from({ length: 30 }, (_, i) =>
      i % 2 === 0
        ? () => readItemPage(database, items)
        : async () => ({ rows: await readJobPage(database, jobs), final: false }),
    );
    const pages = reads.map((read) => hub.watchPage(read, 100, {}));
    await lockWaiters(test.db, 2);
    await database.pool.query('select');
    expect(database.pool.waitingCount).toBe(0);
    for (const page of pages.slice(0, 20)) await page.return();
  });
});

it('a page of somebody else is read after the two that are being read, however many pages of one caller wait', async () => {
  const read: string[] = [];
  const ends: (() => void)[] = [];
  const pageOf = (name: string, tenant: string) =>
    hub.watchPage(
      async () => {
        read.push(name);
        await new Promise<void>((resolve) => ends.push(resolve));
        return { rows: [], final: true };
      },
      100,
      { tenant, account: name },
    );
  const pages = Array.from({ length: 92 }, (_, i) => pageOf(`theirs ${i}`, 'theirs'));
  const mine = pageOf('mine', 'mine');
  const first = mine.next();
  for (let ended = 0; ended < 4; ended++) {
    await expect.poll(() => ends.length).toBeGreaterThan(ended);
    ends[ended]?.();
  }
  await first;
  expect(read.slice(0, 4)).toContain('mine');
  for (const page of pages) await page.return();
  for (const end of ends) end();
});

it("a failed read for a newcomer ends nobody else's stream", async () => {
  const { root = '', child = '' } = await test.create({
    type: 'root',
    items: [{}],
    children: [{ type: 'child', sealed: true }],
  });
  await test.fold(root);
  const live = await hub.watchTree(root, 20);
  await live?.next();
  await withLock('jobtree.job_progress', async () => {
    await expect(hub.watchJob(root, child, 20)).rejects.toThrow();
  });
  expect(await Promise.race([live?.next(), delay(200)])).toBeUndefined();
  const newcomer = await hub.watchJob(root, child, 20);
  expect((await newcomer?.next())?.value?.jobs).toHaveLength(1);
  await newcomer?.return();
  await live?.return();
});

describe('of two newcomers only the one is refused whose read has failed', () => {
  /** The next read of trees fails once it is let go; those after it do not. */
  const failNextRead = () => {
    const { pool } = database;
    const query = pool.query.bind(pool) as (statement: { name?: string }) => Promise<unknown>;
    let fail: (() => void) | undefined;
    const begun = new Promise<void>((resolve) => {
      vi.spyOn(pool, 'query').mockImplementation(((statement: { name?: string }) => {
        if (statement.name !== 'read_trees' || fail !== undefined) return query(statement);
        resolve();
        return new Promise((_, reject) => {
          fail = () => reject(new Error('a fault'));
        });
      }) as never);
    });
    return { begun, fail: () => fail?.() };
  };
  const createTree = async () => {
    const { root = '', child = '' } = await test.create({
      type: 'root',
      items: [{}],
      children: [{ type: 'child', sealed: true }],
    });
    await test.fold(root);
    return { root, child };
  };

  it.each(['watchTree', 'watchJob'] as const)('of a tree that nobody watches: %s', async (what) => {
    const { root } = await createTree();
    const { begun, fail } = failNextRead();
    const first = expect(hub.watchTree(root, 20)).rejects.toThrow('a fault');
    await begun;
    const second = what === 'watchTree' ? hub.watchTree(root, 20) : hub.watchJob(root, root, 20);
    fail();
    await first;
    expect((await (await second)?.next())?.value).toMatchObject({ openJobs: 1 });
    await (await second)?.return();
  });

  it('of a tree that somebody watches', async () => {
    const { root, child } = await createTree();
    const live = await hub.watchTree(root, 20);
    const { begun, fail } = failNextRead();
    const first = expect(hub.watchJob(root, child, 20)).rejects.toThrow('a fault');
    await begun;
    const second = hub.watchJob(root, root, 20);
    fail();
    await first;
    expect((await (await second)?.next())?.value).toMatchObject({ openJobs: 1 });
    await (await second)?.return();
    await live?.return();
  });
});

it('the end of a job is published even if Postgres was reset and counts less', () => {
  const before = progressOf({ itemCount: 10, succeeded: 5, startedAt: 1 });
  const end = { ...before, itemCount: 6, sealed: true, completedAt: 2 };
  expect(isNewer(end, before)).toBe(true);
  expect(isNewer(before, end)).toBe(false);
  expect(isNewer(end, end)).toBe(false);
});

it('a reopened job is published, though it had ended and counted more before', () => {
  const end = progressOf({
    itemCount: 10,
    succeeded: 10,
    sealed: true,
    startedAt: 1,
    completedAt: 2,
    outcome: 'SUCCEEDED',
  });
  const reopened = { ...end, generation: 1, succeeded: 4, completedAt: null };
  expect(isNewer(reopened, end)).toBe(true);
  expect(isNewer(end, reopened)).toBe(false);
  expect(revision(reopened) > revision(end)).toBe(true);
});

it('the number of open jobs of a tree comes from the newest states, in whatever order messages arrive', async () => {
  const {
    root = '',
    a = '',
    b = '',
  } = await test.create({
    type: 'root',
    children: [{ type: 'a' }, { type: 'b' }],
  });
  const live = await hub.watchTree(root, 20);
  expect((await live?.next())?.value).toMatchObject({ openJobs: 3 });
  const ended = (jobId: string) => progressOf({ jobId, sealed: true, completedAt: 1, outcome: 'SUCCEEDED' });
  hub.publish({ root, openJobs: 0, jobs: [ended(b), ended(root)] });
  expect((await live?.next())?.value).toMatchObject({ openJobs: 1 });
  const reopened = { ...ended(root), generation: 1, completedAt: null };
  hub.publish({ root, openJobs: 2, jobs: [reopened] });
  expect((await live?.next())?.value).toMatchObject({ openJobs: 2, jobs: [reopened] });
  hub.publish({ root, openJobs: 1, jobs: [ended(a), ended(root)] });
  expect((await live?.next())?.value).toMatchObject({ openJobs: 1, jobs: [ended(a)] });
  await live?.return();
});

it('a caller that refreshes while others are read waits for its own state', async () => {
  const roots = [
    await test.create({ type: 'root', items: [{}] }),
    await test.create({ type: 'root', items: [{}] }),
  ];
  const [first, second] = await Promise.all(roots.map(({ root = '' }) => hub.watchTree(root, 20)));
  const resolved: string[] = [];
  await withLock('jobtree.job_progress', async () => {
    void first?.refresh().then(() => resolved.push('first'));
    await lockWaiters(test.db, 1);
    const refreshed = second?.refresh().then(() => resolved.push('second'));
    await Promise.race([refreshed, test.db.query('select')]);
    expect(resolved).toEqual([]);
  });
  await second?.refresh();
  expect(resolved.sort()).toEqual(['first', 'second']);
  await Promise.all([first?.return(), second?.return()]);
});

it('a complete tree is read again for a new watcher, since it may have been reopened', async () => {
  const { reopened: root = '' } = await test.create({
    type: 'reopened',
    sealed: true,
    maxFailuresPerItem: 0,
    items: [{}],
  });
  await reportOutcomes(test.engine, [
    { assignmentId: (await test.claimOne('reopened')).id, failure: { code: 'E', message: 'no' } },
  ]);
  await test.fold(root);
  const first = await hub.watchJob(root, root, 20);
  expect((await first?.next())?.value?.jobs).toMatchObject([{ failed: 1, completions: 1 }]);
  expect((await first?.next())?.done).toBe(true);
  const [item] = await test.items(root);
  await test.db.query('select jobtree.replay_items($1, $2, $3)', [root, [root], [item?.position]]);
  for (const live of [await hub.watchJob(root, root, 20), await hub.watchTree(root, 20)]) {
    expect((await live?.next())?.value?.jobs).toMatchObject([
      { failed: 0, completedAt: null, completions: 1 },
    ]);
    await live?.return();
  }
});

it('a tree of which messages were lost while nobody watched it is read for who comes back, whatever was heard since', async () => {
  const { left: root = '' } = await test.create({ type: 'left', items: [{}] });
  const { kept: other = '' } = await test.create({ type: 'kept', items: [{}] });
  await test.fold(root);
  const [left, kept] = [await hub.watchTree(root, 20), await hub.watchTree(other, 20)];
  const known = (await left?.next())?.value?.jobs ?? [];
  await left?.return();
  await reportOutcomes(test.engine, [{ assignmentId: (await test.claimOne('left')).id, result: 1 }]);
  await test.fold(root);
  hub.doubt(root);
  // Reads all that is in doubt.
  await kept?.refresh();
  hub.publish({ root, openJobs: 1, jobs: known });
  const back = await hub.watchTree(root, 20);
  expect((await back?.next())?.value?.jobs).toMatchObject([{ succeeded: 1 }]);
  await Promise.all([back?.return(), kept?.return()]);
});
