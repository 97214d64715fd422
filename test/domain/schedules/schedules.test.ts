/** Schedules: what each operation does in each state, what servers make of what is due, and the races between them. */
import type pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import type { Engine } from '../../../src/domain/engine/engine.ts';
import { readJobIds } from '../../../src/domain/jobs/job-pages.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { deleteSchedule } from '../../../src/domain/schedules/delete-schedule.ts';
import { fireSchedules } from '../../../src/domain/schedules/fire-schedules.ts';
import { pauseSchedule } from '../../../src/domain/schedules/pause-schedule.ts';
import { type NewSchedule, putSchedule, syncSchedules } from '../../../src/domain/schedules/put-schedule.ts';
import { resumeSchedule } from '../../../src/domain/schedules/resume-schedule.ts';
import { runSchedule } from '../../../src/domain/schedules/run-schedule.ts';
import { skipOccurrence } from '../../../src/domain/schedules/skip-occurrence.ts';
import { newType, useEngine } from '../../support/engine.ts';
import { lockWaiters } from '../../support/locks.ts';

const t = useEngine();
const { signal } = new AbortController();
const unpaused = { paused_at: null, next_at: expect.any(Date) };
const paused = { paused_at: expect.any(Date), next_at: null };

/** An hourly schedule of a sealed job with one item, whose type is its name. */
async function hourly(schedule: Partial<NewSchedule> = {}): Promise<string> {
  const name = newType('schedule');
  const template = { type: name, items: [{ payload: 1 }], sealed: true };
  await putSchedule(t.engine, { name, everyMs: 3_600_000, template, ...schedule });
  return name;
}

async function read(name: string): Promise<Record<string, any>> {
  const [row] = await t.db.query<Record<string, any>>('select * from jobtree.schedule where name = $1', [
    name,
  ]);
  if (row === undefined) throw new Error(`There is no schedule ${name}.`);
  return row;
}

/** Has its next occurrence be one that was due so long ago, to the hour plus this. */
async function due(name: string, ago: string): Promise<Date> {
  const [row] = await t.db.query<{ next_at: Date }>(
    `update jobtree.schedule set next_at = clock_timestamp() - $2::interval where name = $1 returning next_at`,
    [name, ago],
  );
  return row?.next_at as Date;
}

/** The occurrences of which there are trees. */
async function made(name: string): Promise<Date[]> {
  const rows = await t.db.query<{ occurrence_at: Date }>(
    'select occurrence_at from jobtree.job where schedule_name = $1 order by occurrence_at',
    [name],
  );
  return rows.map(({ occurrence_at }) => occurrence_at);
}

const fire = () => fireSchedules(t.engine, signal);

/** Has all of its trees be complete. */
async function complete(name: string): Promise<void> {
  const held = await claimItems(t.engine, 'w', [{ type: name, limit: 1_000 }]);
  await reportOutcomes(
    t.engine,
    held.map(({ id }) => ({ assignmentId: id, result: null })),
  );
  for (const { id } of await t.db.query<{ id: string }>(
    'select id from jobtree.job where schedule_name = $1',
    [name],
  ))
    await t.fold(id);
}

describe('a schedule that is due', () => {
  it('creates its tree, which names it, and moves on to its next occurrence', async () => {
    const name = await hourly();
    const at = await due(name, '5 seconds');
    t.ready.length = 0;
    await fire();
    expect(await made(name)).toEqual([at]);
    const [root] = await t.db.query<{ id: string }>('select id from jobtree.job where schedule_name = $1', [
      name,
    ]);
    const row = await read(name);
    expect(row).toMatchObject({
      last_root_id: root?.id,
      last_occurrence_at: at,
      open_root_ids: [root?.id],
      ...unpaused,
    });
    expect(row.next_at.getTime()).toBeGreaterThan(at.getTime());
    expect(row.next_at.getTime() % 3_600_000).toBe(0);
    expect(t.ready).toContain(name);
    await fire();
    expect(await made(name)).toHaveLength(1);
  });

  it('announces how long it is until something is due', async () => {
    const name = await hourly();
    await t.db.query(
      `update jobtree.schedule set next_at = next_at + interval '1 day' where name <> $1 and next_at is not null`,
      [name],
    );
    await t.db.query(
      `update jobtree.schedule set next_at = clock_timestamp() + interval '1 minute' where name = $1`,
      [name],
    );
    const { waitMs, failed } = await fire();
    expect(failed).toBe(false);
    expect(waitMs).toBeGreaterThan(30_000);
    // A time is stored in milliseconds, so it may have been rounded up by half of one.
    expect(waitMs).toBeLessThanOrEqual(60_001);
    await deleteSchedule(t.engine, name);
  });

  it.each([
    ['SKIP', 0, 'MISSED'],
    ['RUN_ONCE', 1, 'MISSED'],
    ['RUN_ALL', 75, null],
  ] as const)('after an outage over 75 occurrences %s creates %i', async (missed, count, reason) => {
    const name = await hourly({ missed });
    const first = await due(name, '74 hours 1 minute');
    const at = new Date(Math.ceil(first.getTime() / 3_600_000) * 3_600_000);
    await t.db.query('update jobtree.schedule set next_at = $2 where name = $1', [name, at]);
    const [now] = await t.db.query<{ hour: Date }>(`select date_trunc('hour', now()) as hour`);
    const last = now?.hour as Date;
    const all: Date[] = [];
    for (let time = at.getTime(); time <= last.getTime(); time += 3_600_000) all.push(new Date(time));
    await fire();
    const row = await read(name);
    // The hour may have turned meanwhile.
    expect([74, 75, 76]).toContain(all.length);
    expect(await made(name)).toEqual(count === 0 ? [] : all.slice(-count));
    expect(row).toMatchObject({ skip_reason: reason, skipped_at: reason && at, ...unpaused });
    expect(row.next_at > last).toBe(true);
  });

  it('overlaps running trees with ALLOW', async () => {
    const name = await hourly({ overlap: 'ALLOW' });
    for (const ago of ['6 s', '5 s', '4 s']) {
      await due(name, ago);
      await fire();
    }
    expect(await made(name)).toHaveLength(3);
  });

  it('skips while an earlier tree runs with SKIP', async () => {
    const name = await hourly({ overlap: 'SKIP' });
    const first = await due(name, '6 s');
    await fire();
    const second = await due(name, '5 s');
    await fire();
    expect(await made(name)).toEqual([first]);
    expect(await read(name)).toMatchObject({ skipped_at: second, skip_reason: 'OVERLAP', ...unpaused });
    await complete(name);
    const third = await due(name, '4 s');
    await fire();
    expect(await made(name)).toEqual([first, third]);
  });

  it('queues until earlier trees are complete with QUEUE, one by one', async () => {
    const name = await hourly({ overlap: 'QUEUE' });
    const at: Date[] = [];
    for (const ago of ['6 s', '5 s', '4 s']) {
      at.push(await due(name, ago));
      await fire();
    }
    expect(await made(name)).toEqual(at.slice(0, 1));
    expect(await read(name)).toMatchObject({ queued: at.slice(1), skipped_at: null, ...unpaused });
    await fire();
    expect(await made(name)).toHaveLength(1);
    await complete(name);
    await fire();
    await fire();
    expect(await made(name)).toEqual(at.slice(0, 2));
    expect(await read(name)).toMatchObject({ queued: at.slice(2) });
    await complete(name);
    await fire();
    expect(await made(name)).toEqual(at);
    expect(await read(name)).toMatchObject({ queued: [], last_occurrence_at: at[2] });
    const listed = async (status: 'COMPLETED' | 'WAITING') => {
      const filter = { types: null, statuses: [status], schedule: name, rootsOnly: true };
      return (await readJobIds(t.engine.database, filter, { take: 9, backwards: false })).ids.length;
    };
    expect([await listed('COMPLETED'), await listed('WAITING')]).toEqual([2, 1]);
  });

  it('begins what is queued once trees may overlap', async () => {
    const name = await hourly({ overlap: 'QUEUE' });
    const at: Date[] = [];
    for (const ago of ['6 s', '5 s', '4 s']) {
      at.push(await due(name, ago));
      await fire();
    }
    await putSchedule(t.engine, {
      name,
      everyMs: 3_600_000,
      template: { type: name, items: [{}] },
      overlap: 'ALLOW',
    });
    await fire();
    await fire();
    expect(await made(name)).toEqual(at);
    expect(await read(name)).toMatchObject({ queued: [], skipped_at: null });
  });

  it('queues behind what is queued, even if no earlier tree runs any more', async () => {
    const name = await hourly({ overlap: 'QUEUE' });
    const at: Date[] = [];
    for (const ago of ['7 s', '6 s']) {
      at.push(await due(name, ago));
      await fire();
    }
    await complete(name);
    at.push(await due(name, '5 s'));
    await t.db.query(`select jobtree.fire_schedule($1, $2, array[$2::timestamptz], now() + interval '1 h')`, [
      name,
      at[2],
    ]);
    expect(await read(name)).toMatchObject({ queued: at.slice(1) });
    expect(await made(name)).toEqual(at.slice(0, 1));
  });

  it('queues a hundred at most, and skips the rest', async () => {
    const name = await hourly({ overlap: 'QUEUE', missed: 'RUN_ALL', everyMs: 1_000 });
    await due(name, '200 seconds');
    await t.db.query(`update jobtree.schedule set next_at = date_trunc('second', next_at) where name = $1`, [
      name,
    ]);
    await fire();
    const row = await read(name);
    expect(row.queued).toHaveLength(100);
    expect(row.skip_reason).toBe('QUEUE_FULL');
    expect(await made(name)).toHaveLength(1);
    await deleteSchedule(t.engine, name);
  });

  it('begins what can begin, however many others wait for their trees', async () => {
    const name = await hourly({ overlap: 'QUEUE' });
    for (const ago of ['6 s', '5 s']) {
      await due(name, ago);
      await fire();
    }
    await complete(name);
    const running = await runSchedule(t.engine, await hourly());
    await t.db.query(
      `insert into jobtree.schedule (name, every_ms, missed, overlap, template, created_at, changed_at, next_at, queued, open_root_ids)
       select ' ' || n, 3600000, 'RUN_ONCE', 'QUEUE', '{"type": "x"}', now(), now(), now() + interval '1 hour', array[now()], array[$1::uuid]
       from generate_series(1, 1000) n`,
      [running],
    );
    onTestFinished(async () => {
      await t.db.query(`delete from jobtree.schedule where starts_with(name, ' ')`);
    });
    await fire();
    expect(await made(name)).toHaveLength(2);
  });

  it('counts a manually run tree as an earlier one', async () => {
    const name = await hourly({ overlap: 'SKIP' });
    await runSchedule(t.engine, name);
    await due(name, '5 s');
    await fire();
    expect(await made(name)).toHaveLength(1);
    expect(await read(name)).toMatchObject({ skip_reason: 'OVERLAP' });
  });
});

describe('a template that has become invalid', () => {
  const spoil = (name: string) =>
    t.db.query(`update jobtree.schedule set template = '{"type": "x", "priority": 99999}' where name = $1`, [
      name,
    ]);

  it('is recorded, and the schedule moves on while others fire', async () => {
    const [bad, good] = [await hourly(), await hourly()];
    await spoil(bad);
    const failedAt = await due(bad, '6 s');
    await due(good, '5 s');
    expect((await fire()).failed).toBe(false);
    expect(await made(bad)).toEqual([]);
    expect(await made(good)).toHaveLength(1);
    expect(await read(bad)).toMatchObject({
      failed_at: failedAt,
      error: 'priority is 99999; it must be a whole number from -32768 to 32767.',
      ...unpaused,
    });
    await putSchedule(t.engine, { name: bad, everyMs: 3_600_000, template: { type: bad } });
    expect(await read(bad)).toMatchObject({ failed_at: null, error: null });
    await due(bad, '4 s');
    await fire();
    expect(await made(bad)).toHaveLength(1);
    // The tree before is none of the next occurrence.
    await spoil(bad);
    const again = await due(bad, '3 s');
    expect(
      await t.db.query(
        `select * from jobtree.fire_schedule($1, $2, array[$2::timestamptz], now() + interval '1 h')`,
        [bad, again],
      ),
    ).toEqual([{ root_ids: [], ready: null }]);
    await t.db.query(`update jobtree.schedule set template = '{"type": "x"}' where name = $1`, [bad]);
    await runSchedule(t.engine, bad);
    expect(await read(bad)).toMatchObject({ failed_at: null, error: null });
  });

  it('is recorded when it leaves the queue', async () => {
    const name = await hourly({ overlap: 'QUEUE' });
    for (const ago of ['6 s', '5 s']) {
      await due(name, ago);
      await fire();
    }
    const [queued] = (await read(name)).queued;
    await spoil(name);
    await complete(name);
    expect(await t.db.query('select * from jobtree.fire_schedule($1)', [name])).toEqual([
      { root_ids: [], ready: null },
    ]);
    expect(await read(name)).toMatchObject({
      queued: [],
      failed_at: queued,
      error: expect.stringMatching(/priority/),
    });
  });

  it('is refused in a manual run', async () => {
    const name = await hourly();
    await spoil(name);
    await expect(runSchedule(t.engine, name)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      field: 'priority',
    });
  });
});

it("a schedule whose times can't be computed is paused with the reason, while others fire", async () => {
  const [bad, good] = [await hourly(), await hourly()];
  await t.db.query(
    `update jobtree.schedule
     set every_ms = null, cron = '* * * * *', time_zone = 'Europe/Atlantis', failed_at = now(), error = 'an earlier one'
     where name = $1`,
    [bad],
  );
  const at = await due(bad, '6 s');
  await due(good, '5 s');
  await fire();
  expect(await read(bad)).toMatchObject({
    failed_at: at,
    error: expect.stringMatching(/Atlantis/),
    ...paused,
  });
  await expect(resumeSchedule(t.engine, bad)).rejects.toMatchObject({ code: 'INVALID_INPUT', field: 'name' });
  await expect(skipOccurrence(t.engine, bad, at)).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    field: 'name',
  });
  expect(await made(good)).toHaveLength(1);
});

describe('putting a schedule', () => {
  it('unchanged changes nothing, not even a next occurrence that is due', async () => {
    const name = await hourly();
    const at = await due(name, '5 s');
    const before = await read(name);
    const template = { type: name, items: [{ payload: 1 }], sealed: true };
    expect(await putSchedule(t.engine, { name, everyMs: 3_600_000, template })).toEqual({
      created: false,
      changed: false,
    });
    expect(await read(name)).toEqual(before);
    await fire();
    expect(await made(name)).toEqual([at]);
  });

  it('with another template keeps its next occurrence, and with other times does not', async () => {
    const name = await hourly();
    await t.db.query(`update jobtree.schedule set next_at = now() + interval '7 hours' where name = $1`, [
      name,
    ]);
    const { next_at: before } = await read(name);
    const template = { type: 'other' };
    expect(await putSchedule(t.engine, { name, everyMs: 3_600_000, template })).toEqual({
      created: false,
      changed: true,
    });
    expect((await read(name)).next_at).toEqual(before);
    await putSchedule(t.engine, { name, everyMs: 7_200_000, template });
    expect((await read(name)).next_at < before).toBe(true);
  });

  it('keeps its pause unless told otherwise', async () => {
    const name = newType('schedule');
    const put = (paused?: boolean) =>
      putSchedule(t.engine, { name, cron: '0 3 * * *', template: { type: 'x' }, paused });
    await put(true);
    expect(await read(name)).toMatchObject(paused);
    const { paused_at } = await read(name);
    for (const again of [undefined, true])
      expect(await put(again)).toEqual({ created: false, changed: false });
    expect(await read(name)).toMatchObject({ ...paused, paused_at });
    expect(await put(false)).toEqual({ created: false, changed: true });
    expect(await read(name)).toMatchObject(unpaused);
    await put();
    expect(await read(name)).toMatchObject(unpaused);
  });

  const deep = (levels: number): any => ({ type: 'x', children: levels === 0 ? [] : [deep(levels - 1)] });
  it.each<[string, Partial<NewSchedule>, string]>([
    ['without a name', { name: '' }, 'name'],
    ['with a name that is too long', { name: 'x'.repeat(201) }, 'name'],
    ['with a name that can not be stored', { name: 'a\0' }, 'name'],
    ['with a bad cron', { everyMs: undefined, cron: '* * *' }, 'times.cron.expression'],
    ['on February 30', { everyMs: undefined, cron: '0 0 30 2 *' }, 'times.cron.expression'],
    ['in a bad zone', { everyMs: undefined, cron: '0 3 * * *', timeZone: 'Moon' }, 'times.cron.timeZone'],
    ['at an interval of zero', { everyMs: 0 }, 'times.everyMs'],
    ['without a type', { template: { type: '' } }, 'template.type'],
    [
      'with a bad item',
      { template: { type: 'x', items: [{ priority: 99_999 }] } },
      'template.items[0].priority',
    ],
    ['with a root that is fed', { template: { type: 'x', feed: {} } }, 'template.feed'],
    ['with a tree that is too deep', { template: deep(33) }, 'template.'],
    ['with a dedupe key', { template: { type: 'x', dedupeKey: 'k' } }, 'template.dedupeKey'],
    [
      'with a dedupe key below',
      { template: { type: 'x', children: [{ type: 'y', dedupeKey: 'k' }] } },
      'template.dedupeKey',
    ],
    [
      'with a template of more than 1 MB',
      { template: { type: 'x', items: [1, 2].map(() => ({ payload: 'x'.repeat(600_000) })) } },
      'template',
    ],
  ])('%s is refused, and nothing changes', async (_, bad, field) => {
    const name = newType('schedule');
    const schedule = { name, everyMs: 60_000, template: { type: 'x' }, ...bad };
    const before = await t.db.query(
      'select (select count(*) from jobtree.job), (select count(*) from jobtree.schedule)',
    );
    await expect(putSchedule(t.engine, schedule)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      field: expect.stringContaining(field),
    });
    await expect(
      syncSchedules(
        t.engine,
        [{ name: `${name}-a`, everyMs: 60_000, template: { type: 'x' } }, schedule],
        '',
      ),
    ).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      field: expect.stringContaining(`schedules[1].${field}`),
    });
    expect(
      await t.db.query('select (select count(*) from jobtree.job), (select count(*) from jobtree.schedule)'),
    ).toEqual(before);
  });
});

describe('syncing schedules', () => {
  const schedule = (name: string, everyMs = 60_000): NewSchedule => ({
    name,
    everyMs,
    template: { type: 'x' },
  });

  it('reports new and changed ones, and keeps the others', async () => {
    const prefix = newType('app');
    await putSchedule(t.engine, schedule(`${prefix}/other`));
    expect(await syncSchedules(t.engine, [schedule(`${prefix}/b`), schedule(`${prefix}/a`)], null)).toEqual({
      created: [`${prefix}/a`, `${prefix}/b`],
      changed: [],
      deleted: [],
    });
    expect(
      await syncSchedules(t.engine, [schedule(`${prefix}/a`), schedule(`${prefix}/b`, 61_000)], null),
    ).toEqual({
      created: [],
      changed: [`${prefix}/b`],
      deleted: [],
    });
    await read(`${prefix}/other`);
  });

  it('deletes the others on request, except those of other applications', async () => {
    const [prefix, foreign] = [newType('app'), newType('foreign')];
    for (const name of [`${prefix}/a`, `${prefix}/b`, `${prefix}/c`, foreign])
      await putSchedule(t.engine, schedule(name));
    expect(await syncSchedules(t.engine, [schedule(`${prefix}/b`)], `${prefix}/`)).toEqual({
      created: [],
      changed: [],
      deleted: [`${prefix}/a`, `${prefix}/c`],
    });
    await read(foreign);
    expect((await syncSchedules(t.engine, [], `${prefix}/`)).deleted).toEqual([`${prefix}/b`]);
  });

  it('refuses a repeated name', async () => {
    const name = newType('twice');
    await expect(syncSchedules(t.engine, [schedule(name), schedule(name)], null)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      field: 'schedules[1].name',
    });
  });
});

describe('each operation, in each state', () => {
  /** A schedule in the state. */
  const states = {
    'waiting for its next occurrence': () => hourly(),
    paused: async () => {
      const name = await hourly();
      await pauseSchedule(t.engine, name);
      return name;
    },
    'with a queue': async () => {
      const name = await hourly({ overlap: 'QUEUE' });
      await runSchedule(t.engine, name);
      await due(name, '5 s');
      await fire();
      return name;
    },
  };
  type State = keyof typeof states;
  const operations: Record<
    string,
    { run: (name: string) => Promise<unknown>; after: Record<State, object | string> }
  > = {
    pause: {
      run: (name) => pauseSchedule(t.engine, name),
      after: {
        'waiting for its next occurrence': paused,
        paused,
        'with a queue': { ...paused, queued: [expect.any(Date)] },
      },
    },
    resume: {
      run: (name) => resumeSchedule(t.engine, name),
      after: {
        'waiting for its next occurrence': unpaused,
        paused: unpaused,
        'with a queue': { ...unpaused, queued: [expect.any(Date)] },
      },
    },
    run: {
      run: (name) => runSchedule(t.engine, name),
      after: {
        'waiting for its next occurrence': { ...unpaused, last_root_id: expect.any(String) },
        paused: { ...paused, last_root_id: expect.any(String) },
        'with a queue': { ...unpaused, queued: [expect.any(Date)] },
      },
    },
    skip: {
      run: (name) => skipOccurrence(t.engine, name, null),
      after: {
        'waiting for its next occurrence': { ...unpaused, skip_reason: 'ASKED' },
        paused: 'INVALID_INPUT',
        'with a queue': { ...unpaused, skip_reason: 'ASKED', queued: [expect.any(Date)] },
      },
    },
  };
  const cases = Object.keys(operations).flatMap((operation) =>
    (Object.keys(states) as State[]).map((state) => [operation, state] as const),
  );
  it.each(cases)('%s, %s', async (operation, state) => {
    const name = await states[state]();
    const before = await read(name);
    const { run, after } = operations[operation] as (typeof operations)[string];
    const expected = after[state];
    if (typeof expected === 'string') {
      await expect(run(name)).rejects.toMatchObject({ code: expected });
      expect(await read(name)).toEqual(before);
    } else {
      await run(name);
      expect(await read(name)).toMatchObject(expected);
    }
    if (operation === 'pause' || operation === 'resume') {
      const once = await read(name);
      await run(name);
      expect(await read(name)).toEqual(once);
    }
    await deleteSchedule(t.engine, name);
    await expect(run(name)).rejects.toMatchObject({ code: 'NOT_FOUND', field: 'name' });
    await expect(deleteSchedule(t.engine, name)).rejects.toMatchObject({ code: 'NOT_FOUND', field: 'name' });
  });

  it('skipping names an occurrence, so a repeated call skips one only', async () => {
    const name = await hourly();
    const { next_at: at } = await read(name);
    expect(await skipOccurrence(t.engine, name, at)).toEqual(at);
    expect(await skipOccurrence(t.engine, name, at)).toBeNull();
    const after = { next_at: new Date(at.getTime() + 3_600_000), skipped_at: at };
    expect(await read(name)).toMatchObject(after);
    // It is not paused.
    await resumeSchedule(t.engine, name);
    expect(await read(name)).toMatchObject(after);
  });

  it('skipping removes an occurrence from the queue', async () => {
    const name = await states['with a queue']();
    const { queued, next_at } = await read(name);
    expect(await skipOccurrence(t.engine, name, queued[0])).toEqual(queued[0]);
    expect(await read(name)).toMatchObject({ queued: [], next_at, skip_reason: 'ASKED' });
  });

  it.each<[string, (name: string) => Promise<unknown>]>([
    ['resuming', (name) => resumeSchedule(t.engine, name)],
    ['a definition that says so', (name) => hourly({ name, paused: false })],
  ])(
    'what was skipped and still lies ahead stays skipped after a pause that ends by %s',
    async (_, resume) => {
      const name = await hourly();
      for (let skipped = 0; skipped < 2; skipped++) await skipOccurrence(t.engine, name, null);
      const { next_at } = await read(name);
      for (const pause of [
        () => pauseSchedule(t.engine, name),
        () => pauseSchedule(t.engine, name),
        () => hourly({ name, paused: true }),
      ])
        await pause();
      await resume(name);
      expect((await read(name)).next_at).toEqual(next_at);

      // With other times, what was skipped is no occurrence any more.
      await pauseSchedule(t.engine, name);
      await hourly({ name, everyMs: 1_000 });
      await hourly({ name });
      await resume(name);
      expect((await read(name)).next_at < next_at).toBe(true);

      // By the time of these it has passed.
      await due(name, '3 hours');
      await pauseSchedule(t.engine, name);
      await resume(name);
      expect((await read(name)).next_at > new Date()).toBe(true);
    },
  );

  it('nothing is created during a pause, and resuming makes up for nothing', async () => {
    const name = await states['with a queue']();
    await complete(name);
    await pauseSchedule(t.engine, name);
    await fire();
    expect(await made(name)).toHaveLength(1);
    await resumeSchedule(t.engine, name);
    await fire();
    // What was queued before the pause.
    expect(await made(name)).toHaveLength(2);
  });
});

describe('races', () => {
  async function transaction(): Promise<pg.Client> {
    const other = await t.db.connect();
    await other.query('begin');
    onTestFinished(async () => {
      await other.query('rollback');
      await other.end();
    });
    return other;
  }
  const fireBy = (client: pg.Client, name: string, at: Date, next: Date) =>
    client.query('select * from jobtree.fire_schedule($1, $2, $3, $4)', [name, at, [at], next]);
  const next = new Date('2099-01-01T00:00:00Z');

  it('of two servers that fire one occurrence the second skips, and finds nothing after the commit', async () => {
    const name = await hourly();
    const at = await due(name, '5 s');
    const first = await transaction();
    expect((await fireBy(first, name, at, next)).rows).toHaveLength(1);
    await fire();
    await first.query('commit');
    await fire();
    expect(await made(name)).toEqual([at]);
    expect(await read(name)).toMatchObject({ next_at: next });
  });

  it('if the first of two servers dies before its commit, the second creates the occurrence', async () => {
    const name = await hourly();
    const at = await due(name, '5 s');
    const first = await transaction();
    await fireBy(first, name, at, next);
    await first.query('rollback');
    await fire();
    expect(await made(name)).toEqual([at]);
  });

  it('ten servers fire at the same time, and each occurrence is created once', async () => {
    const names = await Promise.all(Array.from({ length: 10 }, () => hourly({ everyMs: 1_000 })));
    for (const name of names) {
      await t.db.query(
        `update jobtree.schedule set next_at = date_trunc('second', now()) - interval '20 s' where name = $1`,
        [name],
      );
    }
    const rows = await Promise.all(names.map(read));
    while ((await Promise.all(Array.from({ length: 10 }, fire))).some(({ failed }) => failed));
    for (const [k, name] of names.entries()) {
      await pauseSchedule(t.engine, name);
      const all = await made(name);
      expect(all.length).toBeGreaterThanOrEqual(21);
      expect(all).toEqual(all.map((_, i) => new Date(rows[k]?.next_at.getTime() + i * 1_000)));
    }
  });

  it('a change waits for a server that fires, and applies to the next occurrence', async () => {
    const name = await hourly();
    const at = await due(name, '5 s');
    const firing = await transaction();
    await fireBy(firing, name, at, next);
    const put = putSchedule(t.engine, { name, everyMs: 7_200_000, template: { type: 'other' } });
    await lockWaiters(t.db, 1);
    await firing.query('commit');
    await put;
    expect(await made(name)).toEqual([at]);
    expect((await read(name)).next_at < next).toBe(true);
  });

  it.each([
    ['resuming', true, resumeSchedule],
    ['skipping the next', false, (engine: Engine, name: string) => skipOccurrence(engine, name, null)],
    [
      'skipping the one',
      false,
      async (engine: Engine, name: string) =>
        expect(await skipOccurrence(engine, name, (await read(name)).next_at)).not.toBeNull(),
    ],
  ])('%s meets a change of the times that were read for it', async (_, isPaused, change) => {
    const name = await hourly();
    if (isPaused) await pauseSchedule(t.engine, name);
    const putting = await transaction();
    await putting.query('update jobtree.schedule set every_ms = 86400000 where name = $1', [name]);
    const changed = change(t.engine, name);
    await lockWaiters(t.db, 1);
    await putting.query('commit');
    await changed;
    const { next_at, start_at } = await read(name);
    expect((next_at - start_at) % 86_400_000).toBe(0);
  });

  it('a server that read the schedule before a skip creates nothing', async () => {
    const name = await hourly();
    const at = await due(name, '5 s');
    await skipOccurrence(t.engine, name, at);
    expect(
      await t.db.query('select * from jobtree.fire_schedule($1, $2, $3, $4)', [name, at, [at], next]),
    ).toEqual([]);
    expect(await made(name)).toEqual([]);
  });

  it('an occurrence is not created before its time by the clock of Postgres', async () => {
    const name = await hourly();
    const { next_at: at } = await read(name);
    expect(
      await t.db.query('select * from jobtree.fire_schedule($1, $2, $3, $4)', [name, at, [at], next]),
    ).toEqual([]);
  });

  it('a schedule locked by a stranger does not delay the others', async () => {
    const [locked, free] = [await hourly(), await hourly()];
    await due(locked, '6 s');
    await due(free, '5 s');
    const stranger = await transaction();
    await stranger.query('select from jobtree.schedule where name = $1 for update', [locked]);
    await fire();
    expect(await made(free)).toHaveLength(1);
    await stranger.query('rollback');
    await fire();
    expect(await made(locked)).toHaveLength(1);
  });

  it('an occurrence whose serialize key a stranger has locked is created later', async () => {
    const name = newType('schedule');
    const template = { type: name, items: [{ serializeKey: name }] };
    await putSchedule(t.engine, { name, everyMs: 3_600_000, template });
    const at = await due(name, '5 s');
    const stranger = await transaction();
    await stranger.query('select jobtree.lock_keys(array[$1])', [name]);
    expect((await fire()).failed).toBe(true);
    expect(await read(name)).toMatchObject({ failed_at: null, next_at: at });
    await stranger.query('rollback');
    await fire();
    expect(await made(name)).toEqual([at]);
  });

  it('of two puts of a new name one creates it, and the other finds it', async () => {
    const name = newType('schedule');
    const first = await transaction();
    await first.query(
      `insert into jobtree.schedule (name, every_ms, missed, overlap, template, created_at, changed_at, next_at)
       values ($1, 60000, 'RUN_ONCE', 'ALLOW', '{"type": "x"}', now(), now(), $2)`,
      [name, next],
    );
    const second = putSchedule(t.engine, { name, everyMs: 60_000, template: { type: 'y' } });
    await lockWaiters(t.db, 1);
    await first.query('commit');
    expect(await second).toEqual({ created: false, changed: true });
    expect((await read(name)).template).toMatchObject({ type: 'y' });
  });
});
