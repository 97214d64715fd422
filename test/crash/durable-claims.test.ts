/**
 * Postgres is killed right after it answered claims. DURABLE_ROUNDS has that happen more often. A claim that does not wait for
 * the disk may be forgotten, which costs time, but counts nothing twice.
 */
import { expect, it, onTestFinished } from 'vitest';
import { type Assignment, createClient } from '../../src/client/index.ts';
import { expectGone, serverPid, start, temporaryFolder } from '../embedded/support.ts';
import { startProxy } from '../support/proxy.ts';
import { startServer } from '../support/server.ts';

const rounds = Number(process.env.DURABLE_ROUNDS ?? 2);
const claimsAtOnce = 8;
const limit = 20;
const type = 'durable';

async function killAfterClaims(env: Record<string, string>) {
  const folder = temporaryFolder();
  const postgres = await start(folder);
  const proxy = await startProxy(postgres.url);
  onTestFinished(() => proxy.close());
  const app = await startServer(proxy.url, { JOBTREE_SWEEP_INTERVAL_MS: '60000', ...env });
  onTestFinished(() => app.close());
  const client = createClient({ url: app.url, retryMs: 20_000 });
  onTestFinished(() => client.close());
  const { id } = await client.createJob({ type, heartbeatIntervalMs: 3_600_000 });
  const count = rounds * claimsAtOnce * limit;
  await client.addItems(
    id,
    Array.from({ length: count }, (_, i) => ({ payload: i })),
    { seal: true },
  );

  /** Another claim may have locked what is left, for longer than a claim waits: then it gets less. */
  const claimAll = async () => {
    const claimed: Assignment[] = [];
    while (claimed.length < limit)
      claimed.push(...(await client.claimItems('w', [{ type, limit: limit - claimed.length }])));
    return claimed;
  };
  /** What claims got; each in requests of its own, and Postgres is killed with the last answer. */
  const claimAndKill = async () => {
    const claimed = await Promise.all(Array.from({ length: claimsAtOnce }, claimAll));
    const postmaster = serverPid(folder);
    process.kill(postmaster, 'SIGKILL');
    proxy.cut();
    await expectGone(postmaster);
    proxy.mend((await start(folder)).url);
    const ready = async () => (await fetch(new URL('/readyz', app.url))).status;
    await expect.poll(ready).toBe(200);
    return claimed.flat();
  };
  const report = async (assignments: readonly Assignment[]) =>
    (
      await client.reportOutcomes(
        assignments.map((assignment) => ({ assignmentId: assignment.id, result: assignment.payload })),
      )
    ).map(({ status }) => status);
  /** What every item has come to, in the order in which they were added. */
  const results = async () => {
    const all: unknown[] = [];
    for await (const { payload, result } of client.results(id)) {
      expect(result).toBe(payload);
      all.push(payload);
    }
    return all;
  };
  const completed = async () => {
    for await (const progress of client.watchJob(id)) if (progress.status === 'COMPLETED') return progress;
    throw new Error('The job never completed.');
  };
  return { client, count, claimAndKill, report, results, completed };
}

it('a claim that was answered survives a kill of Postgres', { timeout: 120_000 }, async () => {
  const { client, count, claimAndKill, report, results, completed } = await killAfterClaims({});
  for (let round = 0; round < rounds; round++) {
    const claimed = await claimAndKill();
    expect(claimed).toHaveLength(claimsAtOnce * limit);
    const held = await client.heartbeat(claimed.map((assignment) => assignment.id));
    expect(held.filter(({ status }) => status !== 'HELD')).toEqual([]);
    expect((await report(claimed)).filter((status) => status !== 'ACCEPTED')).toEqual([]);
  }
  expect(await completed()).toMatchObject({ succeeded: count, failed: 0 });
  expect(await results()).toEqual(Array.from({ length: count }, (_, i) => i));
});

it('a claim that does not wait for the disk may be lost, and every result counts once', {
  timeout: 120_000,
}, async () => {
  const { client, count, claimAndKill, report, results, completed } = await killAfterClaims({
    JOBTREE_DURABLE_CLAIMS: 'false',
  });
  let accepted = 0;
  const take = async (assignments: readonly Assignment[]) => {
    const statuses = await report(assignments);
    accepted += statuses.filter((status) => status === 'ACCEPTED').length;
    expect(new Set([...statuses, 'ACCEPTED', 'STALE'])).toEqual(new Set(['ACCEPTED', 'STALE']));
  };
  for (let round = 0; round < rounds; round++) await take(await claimAndKill());
  // What is ready again stands before the place where claims start to look, until somebody finds it there.
  while (accepted < count) {
    const rest = await client.claimItems('w', [{ type, limit: 1_000 }]);
    if (rest.length > 0) await take(rest);
  }
  expect(await completed()).toMatchObject({ succeeded: count, failed: 0 });
  expect(await results()).toEqual(Array.from({ length: count }, (_, i) => i));
});
