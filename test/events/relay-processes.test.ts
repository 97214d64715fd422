/** A server that has the role of the relay dies, or hangs: another one takes over, and nobody notices. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { collect, createJob, subscribe, work } from '../support/api.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';
import { relays, until } from '../support/transport.ts';

describe.skipIf(inject('redisUrl') === undefined)('a relay', () => {
  let db: TestDatabase;
  const servers: ServerProcess[] = [];
  beforeAll(async () => {
    db = await createDatabase();
  });
  afterAll(async () => {
    for (const { process } of servers) process.kill('SIGCONT');
    await Promise.all(servers.map((server) => server.end()));
    await db.drop();
  });

  /** Waits until the server says so in its log. */
  async function start(message: string): Promise<ServerProcess> {
    const server = await startServerProcess(db.url, { REDIS_URL: inject('redisUrl') as string });
    servers.push(server);
    await until(message, () => server.output().includes(message));
    return server;
  }
  const passing = 'passing notifications on to Redis';

  it.each(['SIGKILL', 'SIGSTOP'] as const)(
    'is replaced after %s, and a subscriber elsewhere continues',
    async (signal) => {
      const [victim, other] = await Promise.all([start(passing), start(passing)]);
      const third = await start('messages come from Redis');
      expect(third.output()).not.toContain(passing);
      const before = await relays(db);
      const id = await createJob(third.url, { type: signal, sealed: true, items: [{}, {}] });
      const events = collect(
        subscribe(third.url, `subscription ($id: ID!) { jobProgress(jobId: $id) { status succeeded } }`, {
          id,
        }),
      );

      victim.process.kill(signal);
      const killedAt = performance.now();
      await until('taken over', () => third.output().includes(passing));
      const took = performance.now() - killedAt;
      // One that hangs is thrown out after eight seconds; until then the other one goes on.
      expect(took).toBeLessThan(signal === 'SIGKILL' ? 7_000 : 20_000);
      console.log(`${signal}: replaced after ${Math.round(took)} ms`);
      const now = await relays(db);
      expect(now).toHaveLength(2);
      expect(now.filter((pid) => before.includes(pid))).toHaveLength(1);

      for (let done = 0; done < 2; ) done += await work(other.url, signal, 1);
      expect((await events).at(-1)?.data.jobProgress).toEqual({ status: 'COMPLETED', succeeded: 2 });
      expect(third.output()).not.toContain('straight from Postgres');

      if (signal === 'SIGSTOP') {
        victim.process.kill('SIGCONT');
        await until('back', () => victim.output().includes('opening a new one'));
      }
      await Promise.all(servers.splice(0).map((server) => server.end()));
    },
  );

  it('is replaced by a third one if both hang at once', async () => {
    const both = await Promise.all([start(passing), start(passing)]);
    const third = await start('messages come from Redis');
    for (const { process } of both) process.kill('SIGSTOP');
    await until('taken over', () => third.output().includes(passing));
    const id = await createJob(third.url, { type: 'alone', sealed: true, items: [{}] });
    const events = collect(
      subscribe(third.url, `subscription ($id: ID!) { jobProgress(jobId: $id) { status } }`, { id }),
    );
    await work(third.url, 'alone', 1);
    expect((await events).at(-1)?.data.jobProgress).toEqual({ status: 'COMPLETED' });
    await until('on Redis', async () =>
      (await (await fetch(new URL('/readyz', third.url))).text()).includes('redis'),
    );
  });
});
