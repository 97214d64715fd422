/**
 * Two servers and a schedule for every second, while one of the servers is killed and started again: each occurrence is made once, and
 * none is missed.
 *
 *     SCHEDULES_KILLS    how often a server is killed (2)
 *     SCHEDULES_SECONDS  how long it goes on at least (8)
 */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { anyRow } from '../support/locks.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const kills = Number(process.env.SCHEDULES_KILLS ?? 2);
const seconds = Number(process.env.SCHEDULES_SECONDS ?? 8);

const db = useDatabase();
const servers: ServerProcess[] = [];
beforeAll(async () => {
  servers.push(await startServerProcess(db.url), await startServerProcess(db.url));
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.end('SIGKILL')));
});

it(`each occurrence is created exactly once while a server is killed ${kills} times`, async () => {
  const client = createClient({ url: (servers[1] as ServerProcess).url, retryMs: 20_000 });
  const names = ['by cron', 'by interval'];
  const template = { type: 'tick', sealed: true, items: [{ payload: null }] };
  await client.schedules.sync([
    { name: 'by cron', cron: '* * * * * *', timeZone: 'Europe/Berlin', template },
    { name: 'by interval', everyMs: 1_000, template },
  ]);
  const startedAt = performance.now();
  for (let i = 0; i < kills; i++) {
    // Anywhere within a second.
    await delay(Math.random() * 1_000);
    await servers[0]?.end('SIGKILL');
    servers[0] = await startServerProcess(db.url);
    await delay(Math.max(0, startedAt + ((i + 1) * seconds * 1_000) / kills - performance.now()));
  }
  for (const name of names) await client.schedules.pause(name);
  await client.close();
  const rows = await db.query<{ schedule_name: string; at: number; late: number }>(
    `select schedule_name, extract(epoch from occurrence_at)::float8 as at,
       extract(epoch from created_at - occurrence_at)::float8 as late
     from jobtree.job where schedule_name is not null order by occurrence_at`,
  );
  for (const name of names) {
    const times = rows.filter((row) => row.schedule_name === name).map(({ at }) => at);
    expect(times.length).toBeGreaterThanOrEqual(seconds - 1);
    expect(times).toEqual(times.map((_, i) => (times[0] as number) + i));
  }
  expect(
    await db.query('select from jobtree.schedule where skipped_at is not null or failed_at is not null'),
  ).toEqual([]);
  const late = rows.map((row) => row.late).sort((a, b) => a - b);
  console.info(
    `${rows.length} occurrences, ${kills} kills; late by ${Math.round((late[late.length >> 1] as number) * 1_000)} ms (median), ${Math.round((late.at(-1) as number) * 1_000)} ms (most)`,
  );
}, 180_000);

it('after an outage of all servers each policy holds', async () => {
  const policies = ['SKIP', 'RUN_ONCE', 'RUN_ALL'] as const;
  const client = createClient({ url: (servers[1] as ServerProcess).url });
  const template = { type: 'late', sealed: true };
  await client.schedules.sync(
    policies.map((missed) => ({ name: missed, everyMs: 86_400_000, missed, template })),
  );
  await client.close();
  await Promise.all(servers.map((server) => server.end('SIGKILL')));
  // As if they had been away for ten days: occurrences are far enough apart that none falls due meanwhile.
  const [moved] = await db.query<{ first: number }>(
    `update jobtree.schedule set next_at = next_at - interval '10 days' where name = any ($1)
     returning extract(epoch from next_at)::float8 as first`,
    [policies],
  );
  const first = moved?.first as number;
  servers[0] = await startServerProcess(db.url);
  const made = async (name: string) => {
    await anyRow(db, 'select from jobtree.schedule where name = $1 and next_at > now()', [name]);
    const rows = await db.query<{ at: number }>(
      'select extract(epoch from occurrence_at)::float8 as at from jobtree.job where schedule_name = $1 order by occurrence_at',
      [name],
    );
    const [row] = await db.query<{ skipped: number | null; next: number }>(
      `select extract(epoch from skipped_at)::float8 as skipped, extract(epoch from next_at)::float8 as next
       from jobtree.schedule where name = $1`,
      [name],
    );
    return { times: rows.map(({ at }) => at), ...row };
  };
  const skip = await made('SKIP');
  expect([skip.times, skip.skipped]).toEqual([[], first]);
  const once = await made('RUN_ONCE');
  expect([once.times, once.skipped]).toEqual([[(once.next as number) - 86_400], first]);
  const all = await made('RUN_ALL');
  expect(all.times.length).toBeGreaterThanOrEqual(10);
  expect(all.times).toEqual(all.times.map((_, i) => first + i * 86_400));
  expect([all.skipped, all.next]).toEqual([null, (all.times.at(-1) as number) + 86_400]);
}, 60_000);
