/** DATABASE_URL leads to PgBouncer in transaction mode. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collect, createJob, data, subscribe, work } from '../support/api.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startPgbouncer, withoutPgbouncer } from '../support/pgbouncer.ts';
import { startServer } from '../support/server.ts';

describe.skipIf(withoutPgbouncer)('behind PgBouncer', () => {
  let db: TestDatabase;
  let pooler: Awaited<ReturnType<typeof startPgbouncer>>;
  beforeAll(async () => {
    db = await createDatabase();
    pooler = await startPgbouncer(db.url);
  });
  afterAll(async () => {
    await pooler.stop();
    await db.drop();
  });

  it('everything works with a direct address for LISTEN, and without prepared statements', async () => {
    const app = await startServer(pooler.url, {
      DATABASE_URL: pooler.url,
      JOBTREE_DIRECT_DATABASE_URL: db.url,
      JOBTREE_PREPARED_STATEMENTS: 'false',
    });
    try {
      const id = await createJob(app.url, {
        type: 'a',
        sealed: true,
        items: Array.from({ length: 30 }, () => ({})),
      });
      const events = collect(
        subscribe(app.url, `subscription ($id: ID!) { jobProgress(jobId: $id) { status succeeded } }`, {
          id,
        }),
      );
      // Many at once, so that transactions really change sessions.
      const done = await Promise.all(
        Array.from({ length: 30 }, async () => {
          const [count] = await Promise.all([
            work(app.url, 'a', 1),
            data(app.url, `query ($id: ID!) { job(id: $id) { items(first: 5) { nodes { id } } } }`, { id }),
          ]);
          return count;
        }),
      );
      let succeeded = done.reduce((sum, count) => sum + count, 0);
      while (succeeded < 30) succeeded += await work(app.url, 'a', 30);
      expect((await events).at(-1)?.data.jobProgress).toEqual({ status: 'COMPLETED', succeeded: 30 });
    } finally {
      await app.close();
    }
  });

  it('the start is refused if LISTEN would be lost, and names the setting', async () => {
    const starting = startServer(pooler.url, { JOBTREE_PREPARED_STATEMENTS: 'false' });
    await expect(starting).rejects.toThrow('JOBTREE_DIRECT_DATABASE_URL');
  });
});
