/**
 * Redis fails in every way that it can: two servers go on, whoever watches a job through the other one gets its final
 * state, and afterwards messages come from Redis again. An unhandled rejection anywhere fails the run.
 */
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { App } from '../../src/server/create-app.ts';
import { collect, createJob, subscribe, type Watch, work } from '../support/api.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startProxy } from '../support/proxy.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { startServer } from '../support/server.ts';
import { createTransport, until } from '../support/transport.ts';

describe.skipIf(!inject('redisProgram'))('Redis', () => {
  let db: TestDatabase;
  let redis: RedisServer;
  const apps: App[] = [];
  beforeEach(async () => {
    [db, redis] = await Promise.all([createDatabase(), startRedis()]);
  });
  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
    await redis.stop();
    await db.drop();
  });

  async function start(url = redis.url): Promise<App> {
    const app = await startServer(db.url, { REDIS_URL: url });
    apps.push(app);
    return app;
  }

  const route = async (app: App) => (await fetch(new URL('/readyz', app.url))).text();
  async function onRedis(...servers: App[]): Promise<void> {
    for (const app of servers) await until('on Redis', async () => (await route(app)).includes('redis'));
  }
  async function onPostgres(...servers: App[]): Promise<void> {
    for (const app of servers) await until('on Postgres', async () => (await route(app)).includes('notify'));
  }

  /** A job of four items, watched at one server. */
  async function watched(app: App, type: string): Promise<{ events: Promise<any[]> }> {
    const id = await createJob(app.url, { type, sealed: true, items: [{}, {}, {}, {}] });
    const watch: Watch = subscribe(
      app.url,
      `subscription ($id: ID!) { jobProgress(jobId: $id) { status succeeded percent } }`,
      { id },
    );
    return { events: collect(watch) };
  }

  async function finish(app: App, type: string, count: number): Promise<void> {
    for (let done = 0; done < count; ) done += await work(app.url, type, 1);
  }

  const final = { status: 'COMPLETED', succeeded: 4, percent: 100 };
  async function expectFinal(events: Promise<any[]>): Promise<void> {
    expect((await events).at(-1)?.data.jobProgress).toEqual(final);
  }

  it.each([
    ['killed and started again', () => redis.kill(), () => redis.restart()],
    // It takes no command to go on; that the pause ends is the mending.
    ['paused', () => redis.command('client', 'pause', 10_000), async () => {}],
  ])('%s: servers switch to Postgres, and back', async (type, fail, mend) => {
    const [a, b] = [await start(), await start()];
    await onRedis(a, b);
    const first = await watched(b, type);
    await finish(a, type, 2);
    await fail();
    await finish(a, type, 2);
    await expectFinal(first.events);
    await onPostgres(a, b);
    expect((await fetch(new URL('/readyz', a.url))).status).toBe(200);

    // Whoever comes while it is away does not wait for it.
    const second = await watched(b, `${type} while it is away`);
    await finish(a, `${type} while it is away`, 4);
    await expectFinal(second.events);

    await mend();
    await onRedis(a, b);
    const third = await watched(b, `${type} before`);
    await finish(a, `${type} before`, 4);
    await expectFinal(third.events);
  });

  it.each([
    ['cuts off its subscribers', () => redis.command('client', 'kill', 'type', 'pubsub')],
    ['cuts off everybody', () => redis.command('client', 'kill', 'type', 'normal')],
    ['is flushed', () => redis.command('flushall')],
  ])('%s: no server switches, and the final state arrives', async (type, fail) => {
    const [a, b] = [await start(), await start()];
    await onRedis(a, b);
    const { events } = await watched(b, type);
    await finish(a, type, 2);
    await fail();
    await finish(a, type, 2);
    await expectFinal(events);
    expect(await route(b)).toContain('redis');
  });

  it.each([
    ['subscribers', 'pubsub'],
    ['relays', 'normal'],
  ])('that cuts off %s has lost messages, and all readers are told', async (_, kind) => {
    const tests = [
      createTransport(db.url, { REDIS_URL: redis.url }),
      createTransport(db.url, { REDIS_URL: redis.url }),
    ];
    await Promise.all(tests.map(({ transport }) => transport.start()));
    try {
      await until('on Redis', () => tests.every(({ transport }) => transport.route === 'redis'));
      const before = tests.map((test) => test.resyncs());
      await redis.command('client', 'kill', 'type', kind);
      await until('told', () => tests.every((test, i) => test.resyncs() > (before[i] ?? 0)));
      expect(tests.map(({ transport }) => transport.route)).toEqual(['redis', 'redis']);
    } finally {
      await Promise.all(tests.map(({ transport }) => transport.close()));
    }
  });

  it('away at the start does not delay it', async () => {
    await redis.kill();
    const [a, b] = [await start(), await start()];
    expect(await route(a)).toContain('notify');
    const { events } = await watched(b, 'early');
    await finish(a, 'early', 4);
    await expectFinal(events);
    await redis.restart();
    await onRedis(a, b);
  });

  it('unreachable and silent at the start does not delay it', async () => {
    const proxy = await startProxy(redis.url);
    try {
      proxy.freeze();
      const a = await start(proxy.url);
      const { events } = await watched(a, 'mute');
      await finish(a, 'mute', 4);
      await expectFinal(events);
      proxy.mend();
      await onRedis(a);
    } finally {
      await Promise.all(apps.splice(0).map((app) => app.close()));
      await proxy.close();
    }
  });

  it('that refuses the password is reported without it, and works once it is right', async () => {
    await redis.command('acl', 'setuser', 'jobtree', 'on', '>right', 'allchannels', '+@all');
    const url = `redis://jobtree:hemlig@127.0.0.1:${redis.port}`;
    const test = createTransport(db.url, { REDIS_URL: url });
    await test.transport.start();
    try {
      await until('said', () => test.log().includes('WRONGPASS'));
      expect(test.transport.route).toBe('notify');
      expect(test.log()).not.toContain('hemlig');
      await redis.command('acl', 'setuser', 'jobtree', '>hemlig');
      await until('on Redis', () => test.transport.route === 'redis');
    } finally {
      await test.transport.close();
    }
  });

  it('that forbids publishing leaves the role to a server that may', async () => {
    await redis.command('acl', 'setuser', 'reader', 'on', '>p', 'allchannels', '+@all', '-publish');
    const reader = createTransport(db.url, { REDIS_URL: `redis://reader:p@127.0.0.1:${redis.port}` });
    await reader.transport.start();
    const writer = createTransport(db.url, { REDIS_URL: redis.url });
    await writer.transport.start();
    try {
      await until('on Redis', () => [reader, writer].every(({ transport }) => transport.route === 'redis'));
      expect(reader.log()).toContain('NOPERM');
      expect(reader.log()).not.toContain('passing notifications on');
    } finally {
      await Promise.all([reader.transport.close(), writer.transport.close()]);
    }
  });

  it('keeps no connection of a closed server', async () => {
    const a = await start();
    await onRedis(a);
    expect(await redis.command('client', 'list')).toMatch(/name=jobtree/);
    await Promise.all(apps.splice(0).map((app) => app.close()));
    await until('gone', async () => !String(await redis.command('client', 'list')).includes('name=jobtree'));
  });
});
