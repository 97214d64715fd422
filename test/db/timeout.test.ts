/** A connection to Postgres that dies without a word, as behind a firewall that forgets it: nothing comes back any more. */
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { Database } from '../../src/db/database.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();
let proxy: TcpProxy;
beforeEach(async () => {
  proxy = await startProxy(db.url);
  onTestFinished(() => proxy.close());
});

function open(): Database {
  const database = new Database({ url: proxy.url, poolSize: 1, timeoutMs: 500, onIdleError: () => {} });
  onTestFinished(() => database.close());
  return database;
}

it('a call without an answer fails, and its connection is discarded', async () => {
  const database = open();
  const pids = () =>
    db.query(
      `select pid from pg_stat_activity where application_name = 'jobtree' and datname = current_database()`,
    );
  await database.open(0);
  const tree = JSON.stringify({ type: 'silence', dedupeKey: 'once', items: [{ payload: 1 }] });
  const [before] = await pids();

  proxy.swallowAnswers();
  await expect(database.call('create_job', tree)).rejects.toThrow('The connection to Postgres was lost');
  proxy.mend();

  // It may have been carried out all the same, as here; then a second time changes nothing.
  expect(await database.call('create_job', tree)).toMatchObject([{ created: false }]);
  expect(await pids()).not.toContainEqual(before);
  expect(await db.query('select count(*)::int as jobs from jobtree.job')).toEqual([{ jobs: 1 }]);
});

it('a read without an answer fails, and the next one gets its own answer', async () => {
  const database = open();
  const count = () => database.prisma.job.count();
  const before = await count();
  proxy.swallowAnswers();
  await expect(count()).rejects.toThrow();
  proxy.mend();
  expect(await count()).toBe(before);
});

it('a connection that breaks during a read fails only that read', async () => {
  const database = open();
  const request = database.forRequest({});
  const read = request.pool.query({ text: 'select pg_sleep(10)' });
  const broken = expect(read).rejects.toThrow();
  await expect
    .poll(() => db.query(`select from pg_stat_activity where query = 'select pg_sleep(10)'`))
    .toHaveLength(1);
  proxy.cut();
  await broken;
  proxy.mend();
  expect((await request.pool.query({ text: 'select 1 as one' })).rows).toEqual([{ one: 1 }]);
});

it('a server whose connections died is not ready, and recovers', async () => {
  const app = await startServer(proxy.url, { JOBTREE_DATABASE_TIMEOUT_MS: '1000' });
  onTestFinished(() => app.close());
  const ready = async () => (await fetch(new URL('/readyz', app.url))).status;
  expect(await ready()).toBe(200);
  proxy.swallowAnswers();
  expect(await ready()).toBe(503);
  proxy.mend();
  await expect.poll(ready).toBe(200);
});
