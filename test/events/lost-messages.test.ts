/** Messages are lost on their way from the relay, while the tree is too busy ever to be silent: watchers are right soon. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { Hub } from '../../src/events/hub.ts';
import type { App } from '../../src/server/create-app.ts';
import { collect, createJob, data, subscribe, work } from '../support/api.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { type LossyRedis, startLossyRedis } from '../support/lossy-redis.ts';
import { progressOf } from '../support/progress.ts';
import { startServer } from '../support/server.ts';
import { announce, createTransport, until } from '../support/transport.ts';

/** Items of each job of the tree that is worked off while messages are lost. */
const size = Number(process.env.TEST_LOSSY_ITEMS ?? 12);

let db: TestDatabase;
beforeEach(async () => {
  db = await createDatabase();
});
afterEach(async () => {
  vi.useRealTimers();
  await db.drop();
});

describe.skipIf(inject('redisUrl') === undefined)('with Redis', () => {
  let redis: LossyRedis;
  const apps: App[] = [];
  beforeEach(async () => {
    redis = await startLossyRedis(inject('redisUrl') as string);
  });
  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
    await redis.close();
  });

  async function start(): Promise<App> {
    const app = await startServer(db.url, { REDIS_URL: redis.url });
    apps.push(app);
    await until('on Redis', async () =>
      (await (await fetch(new URL('/readyz', app.url))).text()).includes('redis'),
    );
    return app;
  }

  it('a gap in the numbers of a tree is a loss, and nothing else is', async () => {
    const test = createTransport(db.url, { REDIS_URL: redis.url });
    await test.transport.start();
    try {
      await until('on Redis', () => test.transport.route === 'redis');
      const roots = Array.from({ length: 3 }, (_, i) => `00000000-0000-7000-8000-00000000000${i}`);
      const [joined = '', other = '', left = ''] = roots;
      for (const root of [joined, left]) await test.transport.join(root);
      test.transport.leave(left);
      const last = () => test.trees.at(-1)?.openJobs;
      for (const open of [5, 4, 3]) {
        for (const root of roots) await announce(db, root, open);
        await until('told', () => last() === open);
      }
      await test.transport.join(left);
      await announce(db, left, 3);
      await until('told', () => test.trees.at(-1)?.root === left);
      // Two messages of it were published before.
      expect(test.losses.splice(0)).toEqual([left]);

      let lost = 0;
      redis.loses = (channel, text) =>
        channel.endsWith(joined) && text.includes('"openJobs": 2') && ++lost > 0;
      await announce(db, joined, 2);
      await announce(db, other, 2);
      await until('lost', () => lost === 1);
      expect(test.losses).toEqual([]);
      await announce(db, joined, 1);
      await until('told', () => last() === 1);
      expect(test.losses).toEqual([joined]);
    } finally {
      await test.transport.close();
    }
  });

  it('a job of a busy tree is corrected soon after the loss of a message', async () => {
    const app = await start();
    await createJob(app.url, {
      type: 'busy',
      items: Array.from({ length: 1_000 }, () => ({})),
      children: [{ type: 'quiet', items: [{}], sealed: true }],
    });
    const { jobs } = await data(
      app.url,
      '{ jobs(filter: { types: "quiet", rootsOnly: false }, first: 1) { nodes { id } } }',
    );
    const id: string = jobs.nodes[0].id;
    const watch = subscribe(app.url, `subscription { jobProgress(jobId: "${id}") { status } }`);
    const events = watch[Symbol.asyncIterator]();
    expect((await events.next()).value.data.jobProgress.status).toBe('WAITING');
    let lostAt: number | undefined;
    redis.loses = (channel, text) => {
      if (!channel.includes(':tree:') || !text.includes(id.slice('Job:'.length))) return false;
      lostAt = performance.now();
      return true;
    };
    let heardAt: number | undefined;
    const heard = (async () => {
      for (let status = ''; status !== 'COMPLETED'; ) {
        status = (await events.next()).value.data.jobProgress.status;
      }
      heardAt = performance.now();
    })();
    await work(app.url, 'quiet', 1);
    const startedAt = performance.now();
    // A tree that is silent for five seconds is read anyway.
    while (heardAt === undefined && performance.now() - startedAt < 15_000) await work(app.url, 'busy', 1);
    expect(lostAt).toBeDefined();
    expect(heardAt).toBeDefined();
    const tookMs = (heardAt as number) - (lostAt as number);
    console.log(`right ${Math.round(tookMs)} ms after the loss`);
    expect(tookMs).toBeLessThan(4_000);
    await heard;
    await watch.close();
  });

  it('with one message in twenty lost, nobody sees an older state, and everybody sees the final one', async () => {
    const [a, b] = [await start(), await start()];
    const types = Array.from({ length: 10 }, (_, i) => `lossy ${i}`);
    const items = Array.from({ length: size }, () => ({}));
    const root = await createJob(a.url, {
      type: 'lossy root',
      sealed: true,
      items,
      children: types.map((type) => ({ type, sealed: true, items })),
    });
    const rows = await db.query<{ id: string }>('select id from jobtree.job where root_id = $1', [
      root.slice(4),
    ]);
    let seed = Date.now() % 2_147_483_647;
    console.log(`seed ${seed}`);
    let lost = 0;
    redis.loses = (channel) => {
      seed = (seed * 48_271) % 2_147_483_647;
      const loses = channel.includes(':tree:') && seed % 20 === 0;
      if (loses) lost++;
      return loses;
    };
    const ids = rows.map(({ id }) => `Job:${id}`);
    const watchJob = (id: string) =>
      `subscription { jobProgress(jobId: "${id}", intervalMs: 20) { revision status succeeded } }`;
    const watchTree = `subscription { jobTreeProgress(rootId: "${root}", intervalMs: 20) { openJobs complete jobs { jobId status revision } } }`;
    const watches = [a, b].flatMap(({ url }) => [
      ...ids.map((id) => collect(subscribe(url, watchJob(id)))),
      collect(subscribe(url, watchTree)),
    ]);
    const all = Promise.all(watches);
    for (let done = 0; done < types.length * size; ) {
      for (const type of types) done += await work(done % 2 ? a.url : b.url, type, 1);
    }
    for (let done = 0; done < size; ) done += await work(a.url, 'lossy root', 1);
    const doneAt = performance.now();
    for (const events of await all) {
      const known = new Map<string, string>();
      for (const { data } of events) {
        const { jobs, complete, revision } = data.jobTreeProgress ?? data.jobProgress;
        for (const job of jobs ?? [{ jobId: '', revision }]) {
          expect(job.revision > (known.get(job.jobId) ?? '')).toBe(true);
          known.set(job.jobId, job.revision);
        }
        if (complete === true) expect(known.size).toBe(ids.length);
      }
      const last = events.at(-1).data;
      if (last.jobProgress) expect(last.jobProgress).toMatchObject({ status: 'COMPLETED', succeeded: size });
      else expect(last.jobTreeProgress).toMatchObject({ complete: true, openJobs: 0 });
    }
    console.log(`${lost} lost; all right ${Math.round(performance.now() - doneAt)} ms after the end`);
    expect(performance.now() - doneAt).toBeLessThan(60_000);
  }, 180_000);
});

it('watched trees are read again within a minute, even if no loss is noticed', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  const database = db.open();
  const hub = new Hub({
    database,
    transport: { join: async () => {}, leave: () => {} },
    logger: pino({ level: 'silent' }),
  });
  try {
    const [job] = await db.query<{ id: string }>(
      `select job_id as id from jobtree.create_job('{"type": "busy", "children": [{"type": "quiet"}]}')`,
    );
    const root = job?.id ?? '';
    const [quiet] = await db.query<{ id: string }>('select id from jobtree.job where parent_id = $1', [root]);
    const live = await hub.watchJob(root, quiet?.id ?? '', 20);
    expect((await live?.next())?.value?.jobs[0]).toMatchObject({ itemCount: 0 });
    await db.query('update jobtree.job_progress set item_count = 7 where job_id = $1', [quiet?.id]);
    let heard: number | undefined;
    void live?.next().then(({ value }) => {
      heard = value?.jobs[0]?.itemCount;
    });
    let seconds = 0;
    for (; heard === undefined && seconds < 120; seconds++) {
      hub.publish({
        root,
        openJobs: 2,
        jobs: [progressOf({ jobId: root, itemCount: seconds })],
      });
      vi.advanceTimersByTime(1_000);
      // What is read meanwhile arrives.
      await db.query('select pg_sleep(0.02)');
      await nextTurn();
    }
    expect(heard).toBe(7);
    expect(seconds).toBeLessThanOrEqual(60);
    await live?.return();
  } finally {
    hub.close();
    await database.close();
  }
});
