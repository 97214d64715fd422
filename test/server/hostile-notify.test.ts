/**
 * Foreign NOTIFY: whoever may connect to the database may notify and listen, without any right on the schema. Whoever watches sees the
 * truth, whatever is sent, and everything completes.
 */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import type { JobProgress } from '../../src/domain/progress/progress.ts';
import { start, temporaryFolder } from '../embedded/support.ts';
import { createJob, data, subscribe, work } from '../support/api.ts';
import { createDatabase } from '../support/database.ts';
import { progressOf } from '../support/progress.ts';
import { startServer } from '../support/server.ts';

const watchTree = `subscription ($id: ID!) { jobTreeProgress(rootId: $id, intervalMs: 20) {
  complete outcome percent succeeded itemCount jobs { status } } }`;
const seal = (url: string, id: string) =>
  data(url, `mutation ($id: ID!) { sealJob(input: { jobId: $id }) { __typename } }`, { id });

/** A login that may do nothing but connect. */
async function connectStranger(url: string): Promise<pg.Client> {
  const name = `stranger_${randomBytes(6).toString('hex')}`;
  const owner = new pg.Client({ connectionString: url });
  await owner.connect();
  await owner.query(`create role ${name} login password 'stranger'`);
  const own = new URL(url);
  own.username = name;
  own.password = 'stranger';
  const stranger = new pg.Client({ connectionString: own.href });
  await stranger.connect();
  onTestFinished(async () => {
    await stranger.end();
    await owner.query(`drop role ${name}`);
    await owner.end();
  });
  return stranger;
}

/** A message as the fold sends it, of a job that has reached its end in a later generation. */
function forged(jobId: string, more: Partial<JobProgress>): string {
  const counts = { generation: 7, completions: 1, itemCount: 9, succeeded: 9 };
  const end = { sealed: true, startedAt: 1, completedAt: 2, outcome: 'SUCCEEDED' } as const;
  return JSON.stringify({
    root: jobId,
    openJobs: 0,
    jobs: [progressOf({ jobId, ...counts, ...end, ...more })],
  });
}

/** Everything that a subscriber is shown, as it comes. */
function show(url: string, id: string) {
  const watch = subscribe(url, watchTree, { id });
  const shown: any[] = [];
  const ended = (async () => {
    for await (const event of watch) shown.push((event as any).data.jobTreeProgress);
  })();
  return { shown, ended };
}

async function startWatched(env: Record<string, string> = {}) {
  const db = await createDatabase();
  onTestFinished(() => db.drop());
  const app = await startServer(db.url, env);
  onTestFinished(() => app.close());
  const id = await createJob(app.url, { type: 'watched', items: [{}, {}] });
  const { shown, ended } = show(app.url, id);
  await expect.poll(() => shown.length).toBeGreaterThan(0);
  return { db, url: app.url, id, root: id.slice('Job:'.length), shown, ended };
}

describe('foreign NOTIFY', () => {
  it('a login without rights can neither tell watchers anything nor listen to what they are told', async () => {
    const { db, url, id, root, shown, ended } = await startWatched();
    const stranger = await connectStranger(db.url);
    const heard: unknown[] = [];
    stranger.on('notification', (message) => heard.push(message));
    for (const channel of ['jobtree_progress', 'jobtree_work', 'jobtree_progress_', 'jobtree_work_'])
      await stranger.query(`listen ${channel}`);
    await expect(stranger.query('select secret from jobtree.hint_secret')).rejects.toThrow(
      /permission denied/,
    );
    for (const channel of ['jobtree_progress', 'jobtree_progress_'])
      await stranger.query('select pg_notify($1, $2)', [channel, forged(root, {})]);
    heard.length = 0;
    await work(url, 'watched', 1);
    await expect.poll(() => shown.at(-1)).toMatchObject({ succeeded: 1, itemCount: 2 });
    await work(url, 'watched', 1);
    await seal(url, id);
    await ended;
    expect(shown.at(-1)).toMatchObject({ complete: true, outcome: 'SUCCEEDED', succeeded: 2, percent: 100 });
    for (const { succeeded, itemCount } of shown) expect([itemCount, succeeded <= 2]).toEqual([2, true]);
    await stranger.query('select 1');
    expect(heard).toEqual([]);
  });

  it.each([
    ['an end', {}],
    ['a state of a later generation', { completedAt: null, outcome: null }],
    [
      'a job that does not exist',
      { jobId: '019a0000-0000-7000-8000-000000000000', completedAt: null, outcome: null },
    ],
  ])(
    '%s that is sent on the very channel, as by somebody with access to Redis, is not believed for long',
    { timeout: 60_000 },
    async (_, more) => {
      const { db, url, id, root, shown, ended } = await startWatched();
      await db.query(`select jobtree.send_hints('progress', array[$1])`, [
        forged(root, more).replace(/"openJobs":0/, '"openJobs":1'),
      ]);
      await db.query(`select jobtree.send_hints('progress', array[$1])`, [forged(root, more)]);
      await work(url, 'watched', 1);
      await expect
        .poll(() => shown.at(-1), { timeout: 30_000 })
        .toMatchObject({ complete: false, outcome: null, succeeded: 1, itemCount: 2, percent: null });
      const another = show(url, id);
      await expect
        .poll(() => another.shown.at(-1))
        .toMatchObject({ complete: false, succeeded: 1, itemCount: 2 });
      await work(url, 'watched', 1);
      await seal(url, id);
      await Promise.all([ended, another.ended]);
      for (const { complete, succeeded } of shown.slice(0, -1))
        expect([complete, succeeded]).not.toEqual([true, 9]);
      expect(shown.at(-1)).toMatchObject({
        complete: true,
        succeeded: 2,
        itemCount: 2,
        jobs: [{ status: 'COMPLETED' }],
      });
    },
  );
});

// Postgres 17 was the first whose queue for notifications can be made small enough to be filled by a test.
it.skipIf(
  process.env.TEST_POSTGRES_PROGRAMS !== undefined || inject('postgresUrl') === process.env.TEST_DATABASE_URL,
)(
  'while a session that listens in an open transaction fills the queue of notifications, jobs complete and watchers see it',
  { timeout: 120_000 },
  async () => {
    const settings = { fsync: 'off', max_notify_queue_pages: '64' };
    const { url: databaseUrl } = await start(temporaryFolder(), { settings });
    const app = await startServer(databaseUrl);
    onTestFinished(() => app.close());
    const id = await createJob(app.url, { type: 'watched', items: [{}, {}] });
    const { shown, ended } = show(app.url, id);
    await expect.poll(() => shown.length).toBeGreaterThan(0);

    const listening = await connectStranger(databaseUrl);
    await listening.query('listen anything');
    await listening.query('begin');
    await listening.query('select 1');
    const filling = await connectStranger(databaseUrl);
    const fill = async () => {
      for (let i = 0; i < 100; i++)
        await filling.query('select pg_notify($1, $2)', ['x', `${i}${'x'.repeat(7_000)}`]);
    };
    await expect(fill()).rejects.toThrow(/too many notifications/);

    await work(app.url, 'watched', 2);
    await seal(app.url, id);
    await ended;
    expect(shown.at(-1)).toMatchObject({ complete: true, outcome: 'SUCCEEDED', succeeded: 2 });
    const again = await createJob(app.url, { type: 'added', sealed: true, items: [{}] });
    await work(app.url, 'added', 1);
    await show(app.url, again).ended;
    await listening.query('rollback');
  },
);
