/** How news reach the servers: over NOTIFY, over Redis, and while one gives way to the other. */
import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startProxy } from '../support/proxy.ts';
import { announce, createTransport, relays, type TestTransport, until } from '../support/transport.ts';

let db: TestDatabase;
const transports: TestTransport[] = [];
beforeEach(async () => {
  db = await createDatabase();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(transports.splice(0).map(({ transport }) => transport.close()));
  await db.drop();
});

async function start(url: string, env: Record<string, string> = {}): Promise<TestTransport> {
  const started = createTransport(url, env);
  transports.push(started);
  await started.transport.start();
  return started;
}

const openJobs = ({ trees }: TestTransport) => trees.map((tree) => tree.openJobs);

it('without Redis, every server gets messages from Postgres', async () => {
  const a = await start(db.url);
  const b = await start(db.url);
  const root = randomUUID();
  await a.transport.join(root);
  await b.transport.join(root);
  expect([a.transport.route, b.transport.route]).toEqual(['notify', 'notify']);
  for (const open of [3, 2, 1]) await announce(db, root, open);
  for (const transport of [a, b]) await until('told', () => openJobs(transport).join() === '3,2,1');
});

it('delivers joined trees only, and that others changed', async () => {
  const { transport, trees, activity } = await start(db.url);
  const [joined, left, foreign] = [randomUUID(), randomUUID(), randomUUID()];
  await transport.join(joined);
  await transport.join(left);
  transport.leave(left);
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

it('ignores foreign messages', async () => {
  const a = await start(db.url);
  const root = randomUUID();
  await a.transport.join(root);
  for (const text of ['', 'nonsense', '{"root": 1}', `{"root": "${root}"`]) {
    await db.query(`select jobtree.send_hints('progress', array[$1])`, [text]);
  }
  await announce(db, root, 1);
  await until('told', () => openJobs(a).join() === '1');
});

it('replaces a connection that ends, and reports possible losses', async () => {
  const a = await start(db.url);
  const root = randomUUID();
  await a.transport.join(root);
  const before = a.resyncs();
  await db.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name like 'jobtree listener %'`,
  );
  await until('said', () => a.resyncs() > before);
  await announce(db, root, 1);
  await until('told', () => openJobs(a).join() === '1');
});

it('stops in time on a connection that was cut silently', async () => {
  const proxy = await startProxy(db.url);
  const a = createTransport(proxy.url);
  await a.transport.start();
  proxy.freeze();
  const startedAt = performance.now();
  await a.transport.close();
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  await proxy.close();
});

/** As a large answer that is being made would. */
function keepBusy(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

async function listeners(): Promise<number[]> {
  const rows = await db.query<{ pid: number }>(
    `select pid from pg_stat_activity
     where datname = current_database() and application_name like 'jobtree listener %' order by pid`,
  );
  return rows.map(({ pid }) => pid);
}

it('keeps the connection of a process that blocks for five seconds, and delivers everything', async () => {
  const a = await start(db.url);
  const root = randomUUID();
  await a.transport.join(root);
  const before = { pids: await listeners(), resyncs: a.resyncs() };
  // More than the buffers between the two processes hold.
  const said = db.query(
    `select jobtree.send_hints('progress', array[format('{"root": "%s", "openJobs": %s, "jobs": [], "pad": "%s"}', $1::uuid, n, repeat('x', 5000))])
     from generate_series(1, 2500) n, (select pg_sleep(1)) after_a_second`,
    [root],
  );
  // It is on its way.
  await nextTurn();
  keepBusy(5_000);
  await said;
  await announce(db, root, 7);
  await until('told', () => openJobs(a).at(-1) === 7);
  expect({ pids: await listeners(), resyncs: a.resyncs() }).toEqual(before);
});

describe.skipIf(inject('redisUrl') === undefined)('with Redis', () => {
  const env = { REDIS_URL: inject('redisUrl') as string };

  async function startOnRedis(url = db.url, more: Record<string, string> = {}): Promise<TestTransport> {
    const started = await start(url, { ...env, ...more });
    await until('on Redis', () => started.transport.route === 'redis');
    return started;
  }

  it('every server gets each message from Redis once, though two publish it', async () => {
    const [a, b, c] = [await startOnRedis(), await startOnRedis(), await startOnRedis()];
    expect(await relays(db)).toHaveLength(2);
    const root = randomUUID();
    for (const { transport } of [a, b, c]) await transport.join(root);
    for (const open of [3, 2, 1]) {
      await announce(db, root, open);
      for (const transport of [a, b, c]) await until('told', () => transport.trees.at(-1)?.openJobs === open);
    }
    await db.query(`select jobtree.send_hints('work', array['["t"]'])`);
    for (const { work, activity } of [a, b, c]) {
      await until('hinted', () => work.includes('["t"]'));
      await until('told of activity', () => activity() > 0);
    }
    for (const transport of [a, b, c]) expect(openJobs(transport)).toEqual([3, 2, 1]);
  });

  it('a dead Redis is noticed even if the wall clock is set back by an hour', async () => {
    const proxy = await startProxy(env.REDIS_URL);
    try {
      const a = await startOnRedis(db.url, { REDIS_URL: proxy.url });
      const root = randomUUID();
      await a.transport.join(root);
      const now = Date.now;
      vi.spyOn(Date, 'now').mockImplementation(() => now() - 3_600_000);
      proxy.freeze();
      await until('on Postgres', () => a.transport.route === 'notify');
      await announce(db, root, 1);
      await until('told', () => openJobs(a).join() === '1');
    } finally {
      await Promise.all(transports.splice(0).map(({ transport }) => transport.close()));
      await proxy.close();
    }
  });

  it('a joined tree is confirmed by Redis before join resolves', async () => {
    const a = await startOnRedis();
    for (let i = 0; i < 20; i++) {
      const root = randomUUID();
      await a.transport.join(root);
      await announce(db, root, i);
      await until('told', () => a.trees.at(-1)?.root === root);
      a.transport.leave(root);
      await a.transport.join(root);
      await announce(db, root, 1_000);
      await until('told again', () => a.trees.at(-1)?.openJobs === 1_000);
    }
  });

  it('thousands are joined at once', async () => {
    const a = await startOnRedis();
    const roots = Array.from({ length: 3_000 }, () => randomUUID());
    await Promise.all(roots.map((root) => a.transport.join(root)));
    await db.query(
      `select jobtree.send_hints('progress', array[jsonb_build_object('root', r, 'openJobs', 1, 'jobs', '[]'::jsonb)::text])
       from unnest($1::uuid[]) r`,
      [roots],
    );
    await until('told of all', () => new Set(a.trees.map((tree) => tree.root)).size === roots.length);
  });

  it('databases on one Redis do not mix, unless they have the same prefix', async () => {
    const other = await createDatabase();
    try {
      const a = await startOnRedis();
      const b = await startOnRedis(other.url);
      const root = randomUUID();
      for (const { transport } of [a, b]) await transport.join(root);
      await announce(db, root, 1);
      await announce(other, root, 2);
      await until('told', () => a.trees.length > 0 && b.trees.length > 0);
      expect([openJobs(a), openJobs(b)]).toEqual([[1], [2]]);

      const prefix = { JOBTREE_REDIS_PREFIX: `test-${randomUUID()}` };
      const [c, d] = [await startOnRedis(db.url, prefix), await startOnRedis(other.url, prefix)];
      for (const { transport } of [c, d]) await transport.join(root);
      await until('passed on', async () => {
        await announce(db, root, 3);
        return d.trees.some((tree) => tree.openJobs === 3);
      });
    } finally {
      await Promise.all(transports.splice(0).map(({ transport }) => transport.close()));
      await other.drop();
    }
  });

  it('Postgres needs no rights except to connect and to read the names of the channels', async () => {
    const role = `plain_${randomUUID().slice(0, 8)}`;
    await db.query(`create role ${role} login password 'p'`);
    await db.query(
      `grant usage on schema jobtree to ${role}; grant select on jobtree.hint_secret to ${role}`,
    );
    try {
      const url = new URL(db.url);
      url.username = role;
      url.password = 'p';
      await startOnRedis(url.href);
    } finally {
      await Promise.all(transports.splice(0).map(({ transport }) => transport.close()));
      await db.query(`drop owned by ${role}; drop role ${role}`);
    }
  });

  it('a relay that is cut off silently is removed and replaced, and returns by itself', async () => {
    const proxy = await startProxy(db.url);
    try {
      const cutOff = await startOnRedis(proxy.url);
      const [b, c] = [await startOnRedis(), await startOnRedis()];
      const before = await relays(db);
      const root = randomUUID();
      for (const { transport } of [b, c, cutOff]) await transport.join(root);
      proxy.freeze();
      const cutAt = performance.now();
      await until('replaced', async () => {
        const now = await relays(db);
        return now.length === 2 && now.some((pid) => !before.includes(pid));
      });
      expect(performance.now() - cutAt).toBeLessThan(20_000);
      // The other relay went on, and so nobody had to turn to Postgres; the one that was cut off has Redis.
      await announce(db, root, 1);
      for (const transport of [b, c, cutOff]) {
        await until('told', () => openJobs(transport).join() === '1');
        expect(transport.transport.route).toBe('redis');
      }
      proxy.mend();
      await until('back', async () => {
        const [row] = await db.query<{ count: number }>(
          `select count(*)::int as count from pg_stat_activity
           where datname = current_database() and application_name like 'jobtree listener %'`,
        );
        return row?.count === 3;
      });
    } finally {
      await Promise.all(transports.splice(0).map(({ transport }) => transport.close()));
      await proxy.close();
    }
  });

  it("a relay that can't reach Redis leaves the role to one that can", async () => {
    const proxy = await startProxy(env.REDIS_URL);
    try {
      const cutOff = await startOnRedis(db.url, { REDIS_URL: proxy.url });
      const [b, c] = [await startOnRedis(), await startOnRedis()];
      const before = await relays(db);
      const root = randomUUID();
      for (const { transport } of [b, c, cutOff]) await transport.join(root);
      const resyncs = b.resyncs();
      proxy.freeze();
      await until('replaced', async () => {
        const now = await relays(db);
        return now.length === 2 && now.some((pid) => !before.includes(pid));
      });
      await until('announced', () => b.resyncs() > resyncs);
      await until('on Postgres', () => cutOff.transport.route === 'notify');
      expect(b.transport.route).toBe('redis');
      await announce(db, root, 1);
      for (const transport of [b, c, cutOff]) await until('told', () => openJobs(transport).join() === '1');
      proxy.mend();
      await until('on Redis', () => cutOff.transport.route === 'redis');
    } finally {
      await Promise.all(transports.splice(0).map(({ transport }) => transport.close()));
      await proxy.close();
    }
  });
});
