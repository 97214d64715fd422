/** What failed for good, as an operator deals with it: groups, an example, a note, replaying and discarding. */
import { expect, it } from 'vitest';
import type { Operation } from '../../src/client/index.ts';
import { newType } from '../support/engine.ts';
import { useServer } from '../support/use-server.ts';

const { db, client } = useServer();

const unknownJob = 'Job:00000000-0000-7000-8000-000000000000';
const unknownOperation = 'Operation:00000000-0000-7000-8000-000000000000';

/** A job whose items all fail for good, each with a message of its own, unless their payload is right. */
async function failing(count: number) {
  const type = newType();
  const items = Array.from({ length: count }, (_, payload) => ({ payload }));
  const { id } = await client.createJob({ type, items, sealed: true, maxFailuresPerItem: 0 });
  const work = async () => {
    const claimed = await client.claimItems('w', [{ type, limit: 1_000 }]);
    if (claimed.length === 0) return;
    await client.reportOutcomes(
      claimed.map(({ id: assignmentId, payload }) =>
        payload === 'right'
          ? { assignmentId, result: 1 }
          : { assignmentId, failure: { code: 'BAD_ROW', message: `Row ${payload} of "a.csv" is bad.` } },
      ),
    );
  };
  await work();
  return { type, id, work };
}
const completed = async (id: string) => {
  for await (const progress of client.watchJob(id)) if (progress.status === 'COMPLETED') return progress;
  throw new Error('It never completed.');
};

/** Whatever takes half a second, on a busy machine anything, goes on in the background. */
async function finished(operation: Operation): Promise<Operation> {
  let last = operation;
  for await (last of client.watchOperation(operation.id));
  return last;
}

it('a bad deploy is inspected by group and example, and replayed with a corrected item, then as a whole', async () => {
  const { type, id, work } = await failing(5);
  expect(await completed(id)).toMatchObject({ failed: 5 });
  const [group] = await client.deadLetterGroups({ types: [type] });
  expect(group).toMatchObject({ type, code: 'BAD_ROW', pattern: 'Row … of … is bad.', count: 5, note: null });
  const itemId = group?.example?.id ?? '';
  expect(group?.example?.job.id).toBe(id);

  await client.noteDeadLetters(group?.id ?? '', 'A deploy of Friday.');
  expect((await client.deadLetterGroups({ types: [type] }))[0]?.note).toBe('A deploy of Friday.');

  const one = await finished(await client.replayDeadLetters({ itemIds: [itemId] }, { payload: 'right' }));
  expect(one).toMatchObject({ kind: 'REPLAY', status: 'FINISHED', total: 1, done: 1 });
  expect((await client.job(id)).progress).toMatchObject({ status: 'RUNNING', failed: 4, percent: 80 });
  await work();
  expect(await completed(id)).toMatchObject({ failed: 4, succeeded: 1 });

  const all = await finished(await client.replayDeadLetters({ groupIds: [group?.id ?? ''] }));
  expect(all).toMatchObject({ status: 'FINISHED', total: 4, done: 4 });
  await work();
  expect(await completed(id)).toMatchObject({ failed: 4, succeeded: 1 });
  expect((await client.deadLetterGroups({ types: [type] }))[0]).toMatchObject({
    count: 4,
    note: 'A deploy of Friday.',
  });

  expect(await finished(await client.discardDeadLetters({ jobId: id }))).toMatchObject({
    kind: 'DISCARD',
    total: 4,
    done: 4,
  });
  expect(await client.deadLetterGroups({ types: [type] })).toEqual([]);
  expect((await client.job(id)).progress).toMatchObject({ status: 'COMPLETED', failed: 4 });
});

it('a digest counts failures since a time, by type, the largest groups first', async () => {
  const [few, many] = [await failing(2), await failing(5)];
  const types = [few.type, many.type];
  // Four of five failed a day ago.
  await db.query(
    `update jobtree.dead_letter set died_at = died_at - interval '1 day'
     where ctid = any (array(select ctid from jobtree.dead_letter where type = $1 limit 4))`,
    [many.type],
  );
  const counts = async (hours: number, options: { types?: string[]; first?: number }) => {
    const since = new Date(Date.now() - hours * 3_600_000);
    const entries = await client.deadLetterDigest(since, options);
    return entries.map(({ count, group }) => [group?.type, count, group?.count]);
  };
  expect(await counts(48, { types })).toEqual([
    [many.type, 5, 5],
    [few.type, 2, 2],
  ]);
  expect(await counts(1, { types })).toEqual([
    [few.type, 2, 2],
    [many.type, 1, 5],
  ]);
  expect(await counts(1, { types, first: 1 })).toEqual([[few.type, 2, 2]]);
  expect(await counts(48, { types: [few.type] })).toEqual([[few.type, 2, 2]]);
  expect(await counts(0, { types })).toEqual([]);
});

it.each([
  [{}, {}, 'INVALID_INPUT', 'filter'],
  [{ types: [] }, {}, 'INVALID_INPUT', 'filter.types'],
  [{ types: [''] }, {}, 'INVALID_INPUT', 'filter.types[0]'],
  [{ jobId: 'Job:1' }, {}, 'INVALID_INPUT', 'filter.jobId'],
  [{ jobId: unknownJob }, {}, 'NOT_FOUND', 'filter.jobId'],
  [{ groupIds: ['x'] }, {}, 'INVALID_INPUT', 'filter.groupIds[0]'],
  [{ types: ['t'] }, { payload: 1 }, 'INVALID_INPUT', 'payload'],
  [
    { itemIds: [`JobItem:${unknownJob.slice(4)}:1`] },
    { payload: 'x'.repeat(2_000_000) },
    'INVALID_INPUT',
    'payload',
  ],
  [{ types: ['t'] }, { payloadPatch: [1] }, 'INVALID_INPUT', 'payloadPatch'],
  [{ types: ['t'] }, { payloadPatch: 'x' }, 'INVALID_INPUT', 'payloadPatch'],
  [
    { itemIds: [`JobItem:${unknownJob.slice(4)}:1`] },
    { payload: 1, payloadPatch: {} },
    'INVALID_INPUT',
    'payloadPatch',
  ],
])('a replay of %j with %j is refused: %s', async (filter, options, code, field) => {
  await expect(client.replayDeadLetters(filter, options)).rejects.toMatchObject({ code, field });
});

it('a patch corrects the payload of each item; those that it does not suit stay dead letters', async () => {
  const type = newType();
  const large = 'x'.repeat(999_980);
  const payloads = [
    { to: 'Ada', amount: 1 },
    { amount: 2, to: 'Bob' },
    'Eve',
    [1],
    null,
    { large },
    ...Array.from({ length: 1_500 }, (_, n) => ({ n })),
  ];
  const { id } = await client.createJob({ type, maxFailuresPerItem: 0 });
  for (let from = 0; from < payloads.length; from += 500)
    await client.addItems(
      id,
      payloads.slice(from, from + 500).map((payload) => ({ payload })),
    );
  for (;;) {
    const claimed = await client.claimItems('w', [{ type, limit: 1_000 }]);
    if (claimed.length === 0) break;
    const failure = { code: 'E', message: 'no' };
    await client.reportOutcomes(claimed.map(({ id }) => ({ assignmentId: id, failure })));
  }
  const started = await client.replayDeadLetters(
    { types: [type] },
    { payloadPatch: { currency: 'EUR', amount: null } },
  );
  let ended = started;
  for await (ended of client.watchOperation(started.id));
  expect(ended).toMatchObject({
    total: payloads.length,
    done: payloads.length - 3,
    skipped: 3,
    skippedReason: 'payload is not an object, which a patch could change.',
  });
  const { nodes } = await client.items(id, { first: 6 });
  expect(nodes.map(({ payload, status }) => [payload, status])).toEqual([
    [{ to: 'Ada', currency: 'EUR' }, 'READY'],
    [{ to: 'Bob', currency: 'EUR' }, 'READY'],
    ['Eve', 'FAILED'],
    [[1], 'FAILED'],
    [{ currency: 'EUR' }, 'READY'],
    [{ large }, 'FAILED'],
  ]);
  expect((await client.deadLetterGroups({ types: [type] }))[0]?.count).toBe(3);
  const claimed = await client.claimItems('w', [{ type, limit: 1_000 }]);
  expect(claimed.at(-1)?.payload).toEqual({ n: expect.any(Number), currency: 'EUR' });
});

it('items that are no longer dead letters, and those of cancelled jobs, are skipped', async () => {
  const { type, id, work } = await failing(2);
  const open = await client.createJob({ type, items: [{ payload: 0 }], maxFailuresPerItem: 0 });
  await work();
  await client.cancelJob(open.id);
  const [{ id: first = '' } = {}, { id: second = '' } = {}] = (await client.items(id)).nodes;
  await client.discardDeadLetters({ itemIds: [first] });
  const [{ id: cancelled = '' } = {}] = (await client.items(open.id)).nodes;
  const itemIds = [first, second, cancelled, `JobItem:${unknownJob.slice(4)}:7`];
  expect(await client.replayDeadLetters({ itemIds })).toMatchObject({
    status: 'FINISHED',
    total: 1,
    done: 1,
  });
});

it('an unknown operation is NOT_FOUND, and a finished one stays finished', async () => {
  await expect(client.operation(unknownOperation)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(client.cancelOperation(unknownOperation)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  const { type } = await failing(1);
  const { id } = await client.discardDeadLetters({ types: [type] });
  expect(await client.cancelOperation(id)).toMatchObject({ status: 'FINISHED' });
  expect(await client.operation(id)).toMatchObject({ status: 'FINISHED', done: 1 });
});
