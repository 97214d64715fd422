/** Postgres dies under an open subscription and comes back: the server stays, and so does the subscription. */
import { expect, it, onTestFinished } from 'vitest';
import { expectGone, serverPid, start, temporaryFolder } from '../embedded/support.ts';
import { createJob, subscribe, work } from '../support/api.ts';
import { startProxy } from '../support/proxy.ts';
import { startServerProcess } from '../support/server.ts';

const watchJob = `subscription ($id: ID!) {
  jobProgress(jobId: $id) { status itemProgress succeeded failed message }
}`;

it.each([
  ['killed', 'SIGKILL'],
  ['shut down without a checkpoint', 'SIGQUIT'],
] as const)(
  'if Postgres is %s, the subscriber gets the final state',
  { timeout: 120_000 },
  async (_, signal) => {
    const folder = temporaryFolder();
    const first = await start(folder);
    // The address stays, though the embedded Postgres takes a new port.
    const proxy = await startProxy(first.url);
    onTestFinished(() => proxy.close());
    const server = await startServerProcess(proxy.url, { JOBTREE_LOG_LEVEL: 'warn' });
    onTestFinished(() => void server.end('SIGKILL'));

    const id = await createJob(server.url, { type: 'crash', items: Array(20).fill({}), sealed: true });
    const watch = subscribe(server.url, watchJob, { id });
    const events = watch[Symbol.asyncIterator]();
    const next = async () => (await events.next()).value?.data.jobProgress;
    expect(await next()).toMatchObject({ status: 'WAITING', itemProgress: 0 });
    expect(await work(server.url, 'crash', 5)).toBe(5);

    const postmaster = serverPid(folder);
    process.kill(postmaster, signal);
    proxy.cut();
    await expectGone(postmaster);
    const ready = async () => (await fetch(new URL('/readyz', server.url))).status;
    expect(await ready()).toBe(503);
    const second = await start(folder);
    proxy.mend(second.url);
    await expect.poll(ready).toBe(200);

    // What was acknowledged is there: fifteen are left.
    expect(await work(server.url, 'crash', 20)).toBe(15);
    let last: any;
    for (let state = await next(); state !== undefined; state = await next()) {
      expect(state.itemProgress).toBeGreaterThanOrEqual(last?.itemProgress ?? 0);
      last = state;
    }
    expect(last).toMatchObject({ status: 'COMPLETED', succeeded: 20, failed: 0, message: 'Job complete' });
    await watch.close();
    expect(await server.end()).toBe(0);
  },
);
