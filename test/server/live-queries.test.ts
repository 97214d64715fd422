/** `live`: the answer of any query, again whenever it differs. */
import pg from 'pg';
import { expect, it, vi } from 'vitest';
import { codesOf, errorsOverEvents } from '../support/answers.ts';
import { createJob, data, subscribe, type Watch } from '../support/api.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { lockWaiters } from '../support/locks.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

const { db, app } = useServer();

const readyOf = (type: string) => `subscription { live { queue(type: "${type}") { ready paused } } }`;

it('gives the answer, and the next one when it differs, also by what no tree tells of', async () => {
  const watch = subscribe(app.url, readyOf('changing'));
  const events = watch[Symbol.asyncIterator]();
  const next = async () => (await events.next()).value.data.live.queue;
  expect(await next()).toEqual({ ready: 0, paused: false });
  await createJob(app.url, { type: 'changing', items: [{}] });
  expect(await next()).toEqual({ ready: 1, paused: false });
  await data(app.url, 'mutation { setQueue(input: { type: "changing", paused: true }) { __typename } }');
  expect(await next()).toEqual({ ready: 1, paused: true });
  await watch.close();
});

it('one that joins others gets an answer that is asked for after it came', async () => {
  const early = subscribe(app.url, readyOf('joined'));
  const first = await early[Symbol.asyncIterator]().next();
  expect(first.value.data.live.queue.ready).toBe(0);
  await createJob(app.url, { type: 'joined', items: [{}, {}] });
  const late = subscribe(app.url, readyOf('joined'));
  const joined = await late[Symbol.asyncIterator]().next();
  expect(joined.value.data.live.queue.ready).toBe(2);
  await Promise.all([early.close(), late.close()]);
});

it.each<[string, (id: string) => string, (data: any) => { items: any }, number]>([
  [
    'a query is executed once for one that joins and those who are there',
    (id) => `live(intervalMs: 60000) { job(id: "${id}") { items { nodes { retryAt log { text } } } } }`,
    ({ live }) => ({ items: live.job.items.nodes }),
    1,
  ],
  [
    'a list is executed once for one that joins, and once for what changed for those who are there',
    (id) => `jobItems(jobId: "${id}", intervalMs: 100) { items { retryAt log { text } } }`,
    ({ jobItems }) => jobItems,
    2,
  ],
])('%s', async (_, field, shown, executions) => {
  const id = await createJob(app.url, { type: 'executed', items: [{}] });
  const watches: Watch[] = [];
  const join = () => {
    const watch = subscribe(app.url, `subscription { ${field(id)} }`);
    watches.push(watch);
    return watch[Symbol.asyncIterator]();
  };
  const readers = [join()];
  await readers[0]?.next();
  const query = vi.spyOn(pg.Client.prototype, 'query');
  const years = [2101, 2102, 2103, 2104];
  for (const year of years) {
    // No tree tells of it.
    await db.query('update jobtree.queue_entry set run_at = $2 where job_id = $1', [
      id.slice(4),
      `${year}-01-01`,
    ]);
    // So that the event begins while the one that joins waits.
    const lock = await db.connect();
    await lock.query('begin; lock table jobtree.item_note in access exclusive mode');
    readers.push(join());
    await lockWaiters(db, executions, { except: 'reap_trees|delete_reaped' });
    await lock.end();
    for (const reader of readers) {
      // Of a list, one that joined may be told again what it knows, with what changed for the others.
      let told = '';
      while (!told.startsWith(`${year}`)) told = shown((await reader.next()).value.data).items[0].retryAt;
    }
  }
  const logs = query.mock.calls.filter(([one]: any[]) => one.text?.includes('i.note'));
  expect(logs.length).toBeLessThanOrEqual(executions * years.length);
  await Promise.all(watches.map((watch) => watch.close()));
});

it('each field needs its own permission', async () => {
  const closed = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
  const { key } = await makeKey(db, ['worker']);
  const errors = await errorsOverEvents(closed.url, readyOf('refused'), bearer(key));
  expect(codesOf(errors)).toEqual(['FORBIDDEN']);
  await closed.close();
});

it('an interval below a second is refused', async () => {
  const errors = await errorsOverEvents(
    app.url,
    'subscription { live(intervalMs: 999) { queue(type: "x") { ready } } }',
    {},
  );
  expect(codesOf(errors)).toEqual(['INVALID_INPUT']);
});
