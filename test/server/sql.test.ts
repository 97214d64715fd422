/** Work that an application adds in its own transaction, past the server: with its own rows, or not at all. */
import { beforeAll, expect, it } from 'vitest';
import { subscribe, work } from '../support/api.ts';
import { useServer } from '../support/use-server.ts';

const { db, app } = useServer({ JOBTREE_SWEEP_INTERVAL_MS: '100' });
beforeAll(async () => {
  await db.query('create table customer (id integer primary key)');
});

it('commits with the row that caused it, and workers and counters are updated', async () => {
  const hints = subscribe(app.url, 'subscription { workAvailable(types: ["welcome"]) { types } }');
  const told = hints[Symbol.asyncIterator]();
  await told.next();
  const application = await db.connect();
  await application.query('begin');
  await application.query('insert into customer values (7)');
  const created = await application.query(
    `select job_id from jobtree.create_job('{"type": "welcome", "sealed": true, "items": [{"payload": {"customer": 7}}]}')`,
  );
  expect(await work(app.url, 'welcome', 1)).toBe(0);
  await application.query('commit');
  await application.end();
  await told.next();
  await hints.close();

  const jobId = `Job:${created.rows[0].job_id}`;
  const progress = subscribe(
    app.url,
    `subscription { jobProgress(jobId: "${jobId}") { itemCount succeeded status } }`,
  );
  expect(await work(app.url, 'welcome', 1)).toBe(1);
  let last: unknown;
  for await (const event of progress) last = event.data.jobProgress;
  await progress.close();
  expect(last).toEqual({ itemCount: 1, succeeded: 1, status: 'COMPLETED' });
});

it('vanishes when the transaction is rolled back', async () => {
  const application = await db.connect();
  await application.query('begin');
  await application.query('insert into customer values (8)');
  await application.query(`select jobtree.create_job('{"type": "undone", "items": [{"payload": 1}]}')`);
  await application.query('rollback');
  await application.end();
  expect(await db.query(`select from jobtree.job where type = 'undone'`)).toEqual([]);
  expect(await work(app.url, 'undone', 1)).toBe(0);
});
