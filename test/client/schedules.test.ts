/** Schedules through the client, against a server that makes what is due. */
import { expect, it } from 'vitest';
import { type ScheduleSpec, Worker } from '../../src/client/index.ts';
import { data, request } from '../support/api.ts';
import { example } from '../support/documentation.ts';
import { anyRow } from '../support/locks.ts';
import { useServer } from '../support/use-server.ts';

const { db, app: server, client } = useServer();

const refusal = (code: string, field: string) => expect.objectContaining({ code, field });
const spec = (name: string, more: Partial<ScheduleSpec> = {}): ScheduleSpec => ({
  name,
  everyMs: 3_600_000,
  template: { type: name, sealed: true, items: [{ payload: 1 }] },
  ...more,
});

it('a documented deploy puts its schedules, and putting them again changes nothing', async () => {
  const deploy = new Function(
    'client',
    `return (async () => { ${example('schedules.md', 'sync').replace('await client', 'return await client')} })()`,
  );
  await client.schedules.put(spec('billing/old'));
  await client.schedules.put(spec('shipping'));
  expect(await deploy(client)).toEqual({
    created: ['billing/heartbeat', 'billing/nightly'],
    changed: [],
    deleted: ['billing/old'],
  });
  expect(await deploy(client)).toEqual({ created: [], changed: [], deleted: [] });
  const { nodes } = await client.schedules.list();
  expect(nodes.map(({ name }) => name)).toEqual(['billing/heartbeat', 'billing/nightly', 'shipping']);
  expect(nodes[1]).toMatchObject({
    cron: '30 2 * * *',
    timeZone: 'Europe/Berlin',
    overlap: 'SKIP',
    missed: 'RUN_ONCE',
  });
});

it('a schedule creates trees, a worker processes them, and both can be read', async () => {
  let worked = 0;
  let done = () => {};
  const workedTwice = new Promise<void>((resolve) => {
    done = resolve;
  });
  const worker = new Worker({
    url: server.url,
    types: {
      'every second': {
        concurrency: 1,
        handler: async () => {
          if (++worked === 2) done();
          return null;
        },
      },
    },
  });
  await worker.start();
  await client.schedules.put(spec('every second', { everyMs: undefined, cron: '* * * * * *' }));
  await workedTwice;
  await worker.stop();
  await client.schedules.pause('every second');
  const { lastJob, lastOccurrenceAt, lastFailure, nextAt, nextOccurrences } =
    await client.schedules.get('every second');
  expect({ lastFailure, nextAt, nextOccurrences }).toEqual({
    lastFailure: null,
    nextAt: null,
    nextOccurrences: [],
  });
  const { nodes } = await client.jobs({ filter: { schedule: 'every second' } });
  expect(nodes[0]).toMatchObject({
    id: lastJob?.id,
    occurrence: { schedule: 'every second', at: lastOccurrenceAt },
  });
  const times = nodes.map(({ occurrence }) => Date.parse(occurrence?.at ?? ''));
  expect(times).toEqual(times.map((_, i) => (times[0] as number) - i * 1_000));
});

it('schedules are paused, resumed, run, skipped and deleted', async () => {
  const { schedules } = client;
  const { schedule, created, changed } = await schedules.put(spec('hourly'));
  expect({ created, changed }).toEqual({ created: true, changed: true });
  const [first, second, third] = schedule.nextOccurrences;
  expect([first, schedule.behindMs, schedule.queued]).toEqual([schedule.nextAt, 0, []]);
  expect(await schedules.skip('hourly', { at: first as string })).toMatchObject({
    skipped: first,
    schedule: { nextAt: second },
  });
  expect(await schedules.skip('hourly', { at: first as string })).toMatchObject({
    skipped: null,
    schedule: { nextAt: second },
  });
  expect(await schedules.skip('hourly')).toMatchObject({
    skipped: second,
    schedule: { nextAt: third, lastSkip: { at: second, reason: 'ASKED' } },
  });
  expect((await schedules.pause('hourly')).pausedAt).not.toBeNull();
  await expect(schedules.skip('hourly')).rejects.toEqual(refusal('INVALID_INPUT', 'name'));
  const { jobId } = await schedules.run('hourly');
  expect((await client.job(jobId)).occurrence?.schedule).toBe('hourly');
  expect(await schedules.resume('hourly')).toMatchObject({
    pausedAt: null,
    nextAt: third,
    lastJob: { id: jobId },
  });
  await schedules.delete('hourly');
  for (const call of ['get', 'pause', 'resume', 'run', 'skip', 'delete'] as const) {
    await expect(schedules[call]('hourly')).rejects.toEqual(refusal('NOT_FOUND', 'name'));
  }
  expect((await client.job(jobId)).id).toBe(jobId);
});

it('errors name the path of what is wrong', async () => {
  await expect(client.schedules.put(spec('bad', { everyMs: 0 }))).rejects.toEqual(
    refusal('INVALID_INPUT', 'times.everyMs'),
  );
  await expect(client.schedules.put(spec('bad', { everyMs: undefined, cron: '0 0 30 2 *' }))).rejects.toEqual(
    refusal('INVALID_INPUT', 'times.cron.expression'),
  );
  const template = { type: 'x', children: [{ type: 'y', items: [{ priority: 99_999 }] }] };
  await expect(client.schedules.sync([spec('good'), spec('bad', { template })])).rejects.toEqual(
    refusal('INVALID_INPUT', 'schedules[1].template.children[0].items[0].priority'),
  );
  await expect(client.schedules.get('good')).rejects.toEqual(refusal('NOT_FOUND', 'name'));
});

it('a schedule is a node, pages are ordered by name, and the cost of a page is counted', async () => {
  for (const name of ['page 1', 'page 2', 'page 3']) await client.schedules.put(spec(name));
  const { node } = await data(
    server.url,
    `{ node(id: "Schedule:page 2") { id ... on Schedule { name template } } }`,
  );
  expect(node).toMatchObject({ id: 'Schedule:page 2', name: 'page 2', template: { type: 'page 2' } });
  const seen: string[] = [];
  let after: string | undefined;
  do {
    const page = await client.schedules.list({ first: 2, after });
    seen.push(...page.nodes.map(({ name }) => name));
    after = page.hasNextPage ? (page.endCursor ?? undefined) : undefined;
  } while (after !== undefined);
  expect(seen).toEqual([...seen].sort());
  expect(seen).toEqual(expect.arrayContaining(['page 1', 'page 2', 'page 3']));
  const last = await data(
    server.url,
    `{ schedules(last: 1) { nodes { name } pageInfo { hasPreviousPage } } }`,
  );
  expect(last.schedules).toEqual({ nodes: [{ name: seen.at(-1) }], pageInfo: { hasPreviousPage: true } });
  const refused = await request(server.url, `{ schedule(name: "page 1") { nextOccurrences(first: 101) } }`);
  expect(refused.errors?.[0]?.extensions).toMatchObject({ code: 'INVALID_INPUT', field: 'first' });
});

it('the occurrences of a range are those of the schedules that run, or would if they were resumed', async () => {
  const times = { everyMs: undefined, cron: '0 9 * * *', timeZone: 'Asia/Tokyo' };
  await client.schedules.put(spec('ranged', times));
  const read = async () =>
    (
      await data(
        server.url,
        `query ($from: DateTime!, $until: DateTime!) {
          schedule(name: "ranged") {
            running: nextOccurrences(first: 10, from: $from, until: $until)
            any: nextOccurrences(first: 10, from: $from, until: $until, whilePaused: true)
          }
        }`,
        { from: '2100-01-01T00:00:00Z', until: '2100-01-03T00:00:00Z' },
      )
    ).schedule;
  const both = ['2100-01-01T00:00:00.000Z', '2100-01-02T00:00:00.000Z'];
  expect(await read()).toEqual({ running: both, any: both });
  await client.schedules.pause('ranged');
  expect(await read()).toEqual({ running: [], any: both });
  // As if what lies before the second had been skipped.
  await db.query(`update jobtree.schedule set held_next_at = $1 where name = 'ranged'`, [both[1]]);
  expect(await read()).toEqual({ running: [], any: both.slice(1) });
  await client.schedules.delete('ranged');
});

it('a schedule that is late says by how much, until its tree is created', async () => {
  await client.schedules.put(spec('behind'));
  const stranger = await db.connect();
  // Nobody makes a job.
  await stranger.query('begin; lock table jobtree.job in share mode');
  await db.query(
    `update jobtree.schedule set next_at = clock_timestamp() - interval '10 s' where name = 'behind'`,
  );
  const { behindMs } = await client.schedules.get('behind');
  expect(behindMs).toBeGreaterThanOrEqual(10_000);
  expect(behindMs).toBeLessThan(60_000);
  await stranger.query('commit');
  await stranger.end();
  await anyRow(db, `select from jobtree.job where schedule_name = 'behind'`, []);
  expect((await client.schedules.get('behind')).behindMs).toBe(0);
});
