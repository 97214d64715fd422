/** How news reach the servers: over NOTIFY, over Redis, and while one gives way to the other. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { announce, bridges, createFeed, type TestFeed, until } from '../support/feed.ts';
import { startProxy } from '../support/proxy.ts';

let db: TestDatabase;
const feeds: TestFeed[] = [];
beforeEach(async () => {
  db = await createDatabase();
});
afterEach(async () => {
  await Promise.all(feeds.splice(0).map(({ feed }) => feed.close()));
  await db.drop();
});

async function start(url: string, env: Record<string, string> = {}): Promise<TestFeed> {
  const started = createFeed(url, env);
  feeds.push(started);
  await started.feed.start();
  return started;
}

const openJobs = ({ trees }: TestFeed) => trees.map((tree) => tree.openJobs);

it('without Redis, every server has it from Postgres', async () => {
  const a = await start(db.url);
  const b = await start(db.url);
  const root = randomUUID();
  await a.feed.join(root);
  await b.feed.join(root);
  expect([a.feed.route, b.feed.route]).toEqual(['notify', 'notify']);
  for (const open of [3, 2, 1]) await announce(db, root, open);
  for (const feed of [a, b]) await until('told', () => openJobs(feed).join() === '3,2,1');
});

it('tells of joined trees only, but that others changed', async () => {
  const { feed, trees, activity } = await start(db.url);
  const [joined, left, foreign] = [randomUUID(), randomUUID(), randomUUID()];
  await feed.join(joined);
  await feed.join(left);
  feed.leave(left);
  const startedAt = performance.now();
  for (let i = 0; i < 50; i++) {
    await announce(db, foreign, i);
    await announce(db, left, i);
  }
  await announce(db, joined, 7);
  await until('told', () => trees.length > 0);
  expect(trees.map((tree) => tree.root)).toEqual([joined]);
  // At once for the first, and then four times a second for all the others.
  await until('told of activity', () => activity() >= 2);
  expect(activity()).toBeLessThanOrEqual(2 + (performance.now() - startedAt) / 250);
});

it('what is no message of ours harms nobody', async () => {
  const a = await start(db.url);
  const root = randomUUID();
  await a.feed.join(root);
  for (const text of ['', 'nonsense', '{"root": 1}', `{"root": "${root}"`]) {
    await db.query(`select pg_notify('jobtree_progress', $1)`, [text]);
  }
  await announce(db, root, 1);
  await until('told', () => openJobs(a).join() === '1');
});

it('a connection that ends is replaced, and said to have lost messages', async () => {
  const a = await start(db.url);
  const root = randomUUID();
  await a.feed.join(root);
  const before = a.epochs();
  await db.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'jobtree listener'`,
  );
  await until('said', () => a.epochs() > before);
  await announce(db, root, 1);
  await until('told', () => openJobs(a).join() === '1');
});

it('stops in time on a connection that is cut off without a word', async () => {
  const proxy = await startProxy(db.url);
  const a = createFeed(proxy.url);
  await a.feed.start();
  proxy.freeze();
  const startedAt = performance.now();
  await a.feed.close();
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  await proxy.close();
});

describe.skipIf(inject('redisUrl') === undefined)('with Redis', () => {
  const env = { REDIS_URL: inject('redisUrl') as string };

  async function startOnRedis(url = db.url, more: Record<string, string> = {}): Promise<TestFeed> {
    const started = await start(url, { ...env, ...more });
    await until('on Redis', () => started.feed.route === 'redis');
    return started;
  }

  it('every server has it from Redis, and once, though two pass it on', async () => {
    const [a, b, c] = [await startOnRedis(), await startOnRedis(), await startOnRedis()];
    expect(await bridges(db)).toHaveLength(2);
    const root = randomUUID();
    for (const { feed } of [a, b, c]) await feed.join(root);
    for (const open of [3, 2, 1]) {
      await announce(db, root, open);
      for (const feed of [a, b, c]) await until('told', () => feed.trees.at(-1)?.openJobs === open);
    }
    await db.query(`select pg_notify('jobtree_work', '["t"]')`);
    for (const { work, activity } of [a, b, c]) {
      await until('hinted', () => work.includes('["t"]'));
      await until('told of activity', () => activity() > 0);
    }
    for (const feed of [a, b, c]) expect(openJobs(feed)).toEqual([3, 2, 1]);
  });

  it('a joined tree is confirmed by Redis before join resolves', async () => {
    const a = await startOnRedis();
    for (let i = 0; i < 20; i++) {
      const root = randomUUID();
      await a.feed.join(root);
      await announce(db, root, i);
      await until('told', () => a.trees.at(-1)?.root === root);
      a.feed.leave(root);
      await a.feed.join(root);
      await announce(db, root, 1_000);
      await until('told again', () => a.trees.at(-1)?.openJobs === 1_000);
    }
  });

  it('thousands are joined at once', async () => {
    const a = await startOnRedis();
    const roots = Array.from({ length: 3_000 }, () => randomUUID());
    await Promise.all(roots.map((root) => a.feed.join(root)));
    await db.query(
      `select pg_notify('jobtree_progress', jsonb_build_object('root', r, 'openJobs', 1, 'jobs', '[]'::jsonb)::text)
       from unnest($1::uuid[]) r`,
      [roots],
    );
    await until('told of all', () => new Set(a.trees.map((tree) => tree.root)).size === roots.length);
  });

  it('databases on one Redis do not mix, unless they are given the same prefix', async () => {
    const other = await createDatabase();
    try {
      const a = await startOnRedis();
      const b = await startOnRedis(other.url);
      const root = randomUUID();
      for (const { feed } of [a, b]) await feed.join(root);
      await announce(db, root, 1);
      await announce(other, root, 2);
      await until('told', () => a.trees.length > 0 && b.trees.length > 0);
      expect([openJobs(a), openJobs(b)]).toEqual([[1], [2]]);

      const prefix = { JOBTREE_REDIS_PREFIX: `test-${randomUUID()}` };
      const [c, d] = [await startOnRedis(db.url, prefix), await startOnRedis(other.url, prefix)];
      for (const { feed } of [c, d]) await feed.join(root);
      await until('passed on', async () => {
        await announce(db, root, 3);
        return d.trees.some((tree) => tree.openJobs === 3);
      });
    } finally {
      await Promise.all(feeds.splice(0).map(({ feed }) => feed.close()));
      await other.drop();
    }
  });

  it('needs no rights in Postgres but to connect', async () => {
    const role = `plain_${randomUUID().slice(0, 8)}`;
    await db.query(`create role ${role} login password 'p'`);
    try {
      const url = new URL(db.url);
      url.username = role;
      url.password = 'p';
      await startOnRedis(url.href);
    } finally {
      await Promise.all(feeds.splice(0).map(({ feed }) => feed.close()));
      await db.query(`drop role ${role}`);
    }
  });

  it('a bridge that is cut off without a word is thrown out, and replaced; it comes back by itself', async () => {
    const proxy = await startProxy(db.url);
    try {
      const cutOff = await startOnRedis(proxy.url);
      const [b, c] = [await startOnRedis(), await startOnRedis()];
      const before = await bridges(db);
      const root = randomUUID();
      for (const { feed } of [b, c, cutOff]) await feed.join(root);
      proxy.freeze();
      const cutAt = performance.now();
      await until('replaced', async () => {
        const now = await bridges(db);
        return now.length === 2 && now.some((pid) => !before.includes(pid));
      });
      expect(performance.now() - cutAt).toBeLessThan(6_000);
      // The other bridge went on, and so nobody had to turn to Postgres; the one that was cut off has Redis.
      await announce(db, root, 1);
      for (const feed of [b, c, cutOff]) {
        await until('told', () => openJobs(feed).join() === '1');
        expect(feed.feed.route).toBe('redis');
      }
      proxy.mend();
      await until('back', async () => {
        const [row] = await db.query<{ count: number }>(
          `select count(*)::int as count from pg_stat_activity
           where datname = current_database() and application_name = 'jobtree listener'`,
        );
        return row?.count === 3;
      });
    } finally {
      await Promise.all(feeds.splice(0).map(({ feed }) => feed.close()));
      await proxy.close();
    }
  });

  it('a bridge that can not reach Redis leaves the role to one that can', async () => {
    const proxy = await startProxy(env.REDIS_URL);
    try {
      const cutOff = await startOnRedis(db.url, { REDIS_URL: proxy.url });
      const [b, c] = [await startOnRedis(), await startOnRedis()];
      const before = await bridges(db);
      const root = randomUUID();
      for (const { feed } of [b, c, cutOff]) await feed.join(root);
      const epochs = b.epochs();
      proxy.freeze();
      await until('replaced', async () => {
        const now = await bridges(db);
        return now.length === 2 && now.some((pid) => !before.includes(pid));
      });
      await until('announced', () => b.epochs() > epochs);
      await until('on Postgres', () => cutOff.feed.route === 'notify');
      expect(b.feed.route).toBe('redis');
      await announce(db, root, 1);
      for (const feed of [b, c, cutOff]) await until('told', () => openJobs(feed).join() === '1');
      proxy.mend();
      await until('on Redis', () => cutOff.feed.route === 'redis');
    } finally {
      await Promise.all(feeds.splice(0).map(({ feed }) => feed.close()));
      await proxy.close();
    }
  });
});
