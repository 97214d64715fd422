/** Many jobs in one call, and creations of several callers in one statement: every entry is judged as if it came alone. */
import { describe, expect, it } from 'vitest';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { forRequest } from '../../../src/domain/engine/engine.ts';
import { addItems } from '../../../src/domain/items/add-items.ts';
import { createJob, type NewJob } from '../../../src/domain/jobs/create-job.ts';
import { createJobs } from '../../../src/domain/jobs/create-jobs.ts';
import { isPlain } from '../../../src/domain/jobs/plain-job.ts';
import { JobtreeError } from '../../../src/errors.ts';
import { newType, useEngine } from '../../support/engine.ts';
import { lockWaiters } from '../../support/locks.ts';

const test = useEngine();

const small = (type: string, more: Partial<NewJob> = {}): NewJob => ({
  type,
  sealed: true,
  items: [{ payload: { n: 1 } }],
  ...more,
});

/** `id` and `created`, or the code and field of the error. */
const shown = (answer: Awaited<ReturnType<typeof createJobs>>[number] | undefined) =>
  answer instanceof JobtreeError ? [answer.code, answer.field] : answer?.created;

const rowsOf = (type: string) =>
  test.db.query(
    `select j.*, t.retention_seconds, t.idle_expiry_seconds, p.item_count::int, p.bytes::int, p.open_jobs, p.is_root
     from jobtree.job j join jobtree.tree t on t.root_id = j.root_id join jobtree.job_progress p on p.job_id = j.id
     where j.type = $1 order by j.id`,
    [type],
  );

describe('entries', () => {
  it('answers in order, and a refused entry changes nothing of the others', async () => {
    const type = newType();
    const answers = await createJobs(test.engine, [
      small(type),
      small(''),
      small(type, { priority: 40_000 }),
      small(type, { items: [{ payload: { a: '\0' } }] }),
      { type, children: [{ type, after: ['nobody'] }] },
      { type, children: [{ type: `${type}-below`, feed: {} }] },
      small(type, { callbacks: [{ endpoint: 'nobody' }] }),
      small(type, { items: [{ serializeKey: 'x'.repeat(256) }] }),
      small(type, { items: [{ serializeKey: type }] }),
      small(type),
    ]);
    expect(answers.map(shown)).toEqual([
      true,
      ['INVALID_INPUT', 'inputs[1].type'],
      ['INVALID_INPUT', 'inputs[2].priority'],
      ['INVALID_INPUT', 'inputs[3].items[0].payload.a'],
      ['INVALID_INPUT', 'inputs[4].children[0].after[0]'],
      true,
      ['INVALID_INPUT', 'inputs[6].callbacks[0].endpoint'],
      ['INVALID_INPUT', 'inputs[7].items[0].serializeKey'],
      true,
      true,
    ]);
    expect(await rowsOf(type)).toHaveLength(4);
  });

  it('the second entry with a dedupe key gets the job of the first, as a later call does', async () => {
    const type = newType();
    const entries = [
      small(type, { dedupeKey: 'a' }),
      small(type, { dedupeKey: 'a', items: [{ payload: 2 }] }),
      small(type, { dedupeKey: 'b' }),
    ];
    const first = await createJobs(test.engine, entries);
    expect(first.map(shown)).toEqual([true, false, true]);
    expect(first[1]).toEqual({ ...first[0], created: false });
    const again = await createJobs(test.engine, entries);
    expect(again).toEqual(first.map((answer) => ({ ...answer, created: false })));
    const [{ payload }] = (await test.db.query(
      'select payload from jobtree.job_item i join jobtree.job j on j.id = i.job_id where j.dedupe_key = $1 and j.type = $2',
      ['a', type],
    )) as [{ payload: unknown }];
    expect(payload).toEqual({ n: 1 });
  });

  it('the same if only the second of the two is plain, also for the key of a child', async () => {
    const [type, below] = [newType(), newType()];
    const answers = await createJobs(test.engine, [
      small(type, { dedupeKey: 'a', children: [{ type: below, dedupeKey: 'a' }] }),
      small(type, { dedupeKey: 'a' }),
      small(below, { dedupeKey: 'a' }),
      small(type, { dedupeKey: 'b' }),
      small(type, { dedupeKey: 'b', children: [{ type: below }] }),
    ]);
    expect(answers.map(shown)).toEqual([true, false, false, true, false]);
    expect(answers[1]).toEqual({ ...answers[0], created: false });
    expect(await rowsOf(type)).toHaveLength(2);
  });

  it('refuses more than 1,000 entries, and more than 10,000 jobs or items in total, as a whole', async () => {
    const type = newType();
    const call = (jobs: NewJob[]) => createJobs(test.engine, jobs);
    await expect(call([])).rejects.toMatchObject({ code: 'INVALID_INPUT', field: 'inputs' });
    await expect(call(Array(1_001).fill(small(type)))).rejects.toThrow(
      'inputs has 1001 entries; the limit is 1000.',
    );
    const large = small(type, { items: Array(1_000).fill({}) });
    await expect(call(Array(11).fill(large))).rejects.toThrow(
      'inputs has 11000 items in total; the limit is 10000.',
    );
    const tree: NewJob = { type, children: Array(900).fill({ type }) };
    await expect(call(Array(12).fill(tree))).rejects.toThrow(
      'inputs has 10812 jobs in total; the limit is 10000.',
    );
    expect(await rowsOf(type)).toEqual([]);
  });

  it('1,000 jobs of one item go out in one statement, are claimed in their order, and are counted at once', async () => {
    const type = newType();
    const jobs = Array.from({ length: 1_000 }, (_, n) => small(type, { items: [{ payload: n }] }));
    const before = test.announced.length;
    const answers = await createJobs(test.engine, jobs);
    expect(new Set(answers.map((answer) => (answer as { jobId: string }).jobId)).size).toBe(1_000);
    expect(test.announced.slice(before)).toEqual([[type, 1_000]]);
    const { assignments } = await claimItems(test.engine, 'w', [{ type, limit: 1_000 }]).then(
      (assignments) => ({ assignments }),
    );
    expect(assignments.map(({ payload }) => payload.value)).toEqual(jobs.map((_, n) => n));
    const [deltas] = await test.db.query<{ count: number }>(
      'select count(*)::int from jobtree.progress_delta d join jobtree.job j on j.id = d.job_id where j.type = $1 and d.items > 0',
      [type],
    );
    expect(deltas?.count).toBe(0);
    expect(new Set((await rowsOf(type)).map(({ item_count }) => item_count))).toEqual(new Set([1]));
  });

  it('keeps every option of a job, as create_job does', async () => {
    const options: Partial<NewJob>[] = [
      {},
      { priority: -5, maxFailuresPerItem: 0, backoffMs: [], backoffJitter: 1, heartbeatIntervalMs: 1_000 },
      {
        toleratedFailureCount: 0,
        toleratedFailurePercentage: 0.57,
        serializeOnFailure: 'BLOCK',
        finalStage: false,
      },
      {
        runAt: new Date('2100-01-01T00:00:00.123Z'),
        sealed: false,
        backoffMs: [1, 2_147_483_647],
        retentionSeconds: null,
      },
      {
        retentionSeconds: 0,
        idleExpirySeconds: 5,
        dedupeKey: 'k',
        items: Array.from({ length: 200 }, (_, n) => ({ payload: n })),
      },
    ];
    const volatile = { id: 0, root_id: 0, type: 0, created_at: 0, sealed_at: 0, item_count: 0, bytes: 0 };
    for (const option of options) {
      const [one, other] = [newType(), newType()];
      expect(isPlain(small(one, option))).toBe(true);
      const answers = await createJobs(test.engine, [small(one, option)]);
      expect(answers.map(shown)).toEqual([true]);
      await test.db.query('select from jobtree.create_job($1)', [JSON.stringify(small(other, option))]);
      const [rows, others] = [await rowsOf(one), await rowsOf(other)];
      expect(rows.map((row) => ({ ...row, ...volatile }))).toEqual(
        others.map((row) => ({ ...row, ...volatile })),
      );
      const entries = (type: string) =>
        test.db.query(
          'select run_at, attempt, count, priority, bytes, keyed from jobtree.queue_entry where type = $1 order by position',
          [type],
        );
      expect(await entries(one)).toEqual(await entries(other));
    }
  });

  it('a value that create_job refuses is never plain', async () => {
    const wrong: Record<string, unknown[]> = {
      type: ['', 'x'.repeat(201), 5],
      dedupeKey: ['', 'x'.repeat(501), 5],
      priority: [-32_769, 32_768, 0.5, '1'],
      maxFailuresPerItem: [-1, 1_001, 0.5],
      backoffMs: [[-1], [2_147_483_648], [0.5], Array(101).fill(1), 5, [null]],
      backoffJitter: [-0.1, 1.1, '0'],
      heartbeatIntervalMs: [999, 86_400_001],
      toleratedFailureCount: [-1, 2_147_483_648],
      toleratedFailurePercentage: [-1, 101],
      serializeOnFailure: ['STOP'],
      sealed: ['true'],
      finalStage: [1],
      retentionSeconds: [-1, 315_576_001],
      idleExpirySeconds: [0, 315_576_001],
      nonsense: [1],
    };
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values) {
        const job = { ...small(newType()), [name]: value } as NewJob;
        expect([name, value, isPlain(job)]).toEqual([name, value, false]);
        await expect(
          test.db.query('select from jobtree.create_job($1)', [JSON.stringify(job)]),
        ).rejects.toThrow();
        const [answer] = await createJobs(test.engine, [job, small(newType())]);
        expect([name, value, shown(answer)]).toEqual([
          name,
          value,
          ['INVALID_INPUT', expect.stringMatching(new RegExp(`^inputs\\[0\\]\\.${name}`))],
        ]);
      }
    }
  });

  it('takes defaults from the queue of the type', async () => {
    const type = newType();
    await test.db.query(
      'insert into jobtree.queue (type, priority, max_failures_per_item) values ($1, 7, 9)',
      [type],
    );
    await createJobs(test.engine, [small(type), small(type, { priority: 1 })]);
    expect(
      (await rowsOf(type))
        .map(({ priority, max_failures_per_item }) => [priority, max_failures_per_item])
        .sort(),
    ).toEqual([
      [1, 9],
      [7, 9],
    ]);
  });

  it('a tree is complete when its only item is, and what a tenant stores is counted', async () => {
    const type = `acme//${newType()}`;
    const [answer] = await createJobs(test.engine, [small(type)]);
    const { jobId } = answer as { jobId: string };
    const [stored] = await test.db.query(
      "select items::int, bytes::int from jobtree.stored_delta where tenant = 'acme'",
    );
    expect(stored).toEqual({ items: 1, bytes: 7 });
    const assignment = await test.claimOne(type);
    await test.db.query('select from jobtree.report_outcomes($1)', [
      JSON.stringify([{ assignmentId: assignment.id, result: 1 }]),
    ]);
    expect(await test.fold(jobId)).toMatchObject({
      [type]: { itemCount: 1, succeeded: 1, outcome: 'SUCCEEDED' },
    });
  });
});

describe('calls that meet others', () => {
  it('an open transaction that has a dedupe key holds up its caller, and nobody else', async () => {
    const type = newType();
    const holder = await test.db.connect();
    try {
      await holder.query('begin');
      await holder.query('select from jobtree.create_job($1)', [
        JSON.stringify(small(type, { dedupeKey: 'held' })),
      ]);
      const of = (account: string) => forRequest(test.engine, { account, tenant: undefined } as never);
      let isAnswered = false;
      // All in one turn, so that they go to Postgres in as few statements as there are places.
      const others = ['a', 'b', 'c'].map((account) =>
        createJob(of(account), small(type, { dedupeKey: account })),
      );
      const waiting = createJob(of('d'), small(type, { dedupeKey: 'held' })).finally(() => {
        isAnswered = true;
      });
      const mixed = createJobs(of('e'), [small(type), small(type, { dedupeKey: 'e' })]);
      expect((await Promise.all(others)).map(({ created }) => created)).toEqual([true, true, true]);
      expect((await mixed).map(shown)).toEqual([true, true]);
      expect(isAnswered).toBe(false);
      await lockWaiters(test.db, 1);
      await holder.query('commit');
      expect(await waiting).toMatchObject({ created: false });
    } finally {
      await holder.end();
    }
  });

  it('an open transaction that has added an item with a dedupe key holds up who adds such, and nobody else', async () => {
    const [jobId = ''] = Object.values(await test.create({ type: newType() }));
    const holder = await test.db.connect();
    try {
      await holder.query('begin');
      await holder.query('select from jobtree.add_items($1, $2)', [
        jobId,
        '[{"payload": 0, "dedupeKey": "held"}]',
      ]);
      const waiting = addItems(test.engine, jobId, [{ payload: 1, dedupeKey: 'held' }], { seal: false });
      // In one turn, so that they would go to Postgres together.
      const plain = addItems(test.engine, jobId, [{ payload: 2 }], { seal: false });
      expect(await plain).toMatchObject([{ status: 'ADDED' }]);
      await lockWaiters(test.db, 1);
      await holder.query('commit');
      expect(await waiting).toMatchObject([{ status: 'DUPLICATE' }]);
    } finally {
      await holder.end();
    }
  });

  it('a key that is freed while the call waits for it is given to the call', async () => {
    const type = newType();
    const holder = await test.db.connect();
    try {
      await holder.query('begin');
      await holder.query('select from jobtree.create_job($1)', [
        JSON.stringify(small(type, { dedupeKey: 'k' })),
      ]);
      const call = createJobs(test.engine, [
        small(type, { dedupeKey: 'k' }),
        small(type, { dedupeKey: 'k2' }),
      ]);
      await lockWaiters(test.db, 1);
      await holder.query('rollback');
      expect((await call).map(shown)).toEqual([true, true]);
    } finally {
      await holder.end();
    }
  });

  it('a key that is committed and freed between the insert and the look at it is given to the call', async () => {
    const type = newType();
    await createJob(test.engine, small(type, { dedupeKey: 'k' }));
    const holder = await test.db.connect();
    try {
      await holder.query('begin');
      await holder.query('delete from jobtree.job where type = $1', [type]);
      const call = createJobs(test.engine, [small(type, { dedupeKey: 'k' })]);
      await lockWaiters(test.db, 1);
      await holder.query('commit');
      expect((await call).map(shown)).toEqual([true]);
    } finally {
      await holder.end();
    }
  });

  it('calls with the same keys in opposite order do not deadlock', async () => {
    const type = newType();
    const keys = Array.from({ length: 50 }, (_, n) => small(type, { dedupeKey: `k${n}` }));
    const calls = await Promise.all([
      createJobs(test.engine, keys),
      createJobs(test.otherEngine, keys.toReversed()),
    ]);
    const ids = (answers: Awaited<ReturnType<typeof createJobs>>) =>
      answers.map((answer) => (answer as { jobId: string }).jobId);
    expect(ids(calls[0] as never)).toEqual(ids(calls[1] as never).toReversed());
    expect(await rowsOf(type)).toHaveLength(50);
  });

  it('concurrent calls share statements', async () => {
    const type = newType();
    await test.db.query('create table if not exists calls (n int)');
    const before = test.announced.length;
    await Promise.all(Array.from({ length: 100 }, () => createJob(test.engine, small(type))));
    expect(test.announced.length - before).toBeLessThan(20);
    expect(await rowsOf(type)).toHaveLength(100);
  });
});

describe('SQL', () => {
  const create = (trees: unknown) =>
    test.db.query<{ job_id: string; created: boolean }>('select * from jobtree.create_jobs($1)', [
      JSON.stringify(trees),
    ]);

  it('creates all trees or none, and names the one that is to blame', async () => {
    const type = newType();
    const rows = await create([
      small(type, { dedupeKey: 'a' }),
      {
        type,
        children: [
          { type, name: 'x' },
          { type, name: 'y', after: ['x'] },
        ],
      },
      small(type, { dedupeKey: 'a' }),
    ]);
    expect(rows.map(({ created }) => created)).toEqual([true, true, false]);
    expect(rows[2]?.job_id).toBe(rows[0]?.job_id);
    expect(await rowsOf(type)).toHaveLength(4);
    await expect(create([small(type), small(type, { priority: 0.5 })])).rejects.toMatchObject({
      code: 'JT002',
      column: '[1].priority',
    });
    await expect(create([small(type), { type, children: [{ type, dedupeKey: 'a' }] }])).rejects.toMatchObject(
      { code: 'JT002', column: 'dedupeKey' },
    );
    await expect(create({})).rejects.toMatchObject({ code: 'JT002', column: 'trees' });
    await expect(create(Array(1_001).fill(small(type)))).rejects.toMatchObject({
      code: 'JT002',
      column: 'trees',
    });
    expect(await create([])).toEqual([]);
    expect(await rowsOf(type)).toHaveLength(4);
  });
});
