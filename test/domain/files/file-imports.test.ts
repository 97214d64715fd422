/** Servers that share imports: one at a time, and none adds what another one has taken over. */
import { hash } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import { textOf } from '../../../src/db/database.ts';
import {
  failImport,
  fileImportStatus,
  postponeImport,
  type Row,
  readFileImports,
  recordImport,
} from '../../../src/domain/files/file-imports.ts';
import { leaseImports, leaseSome } from '../../../src/domain/files/lease-imports.ts';
import { appendUpload, createUpload, finishUpload } from '../../../src/domain/files/upload-statements.ts';
import { Uploads } from '../../../src/domain/files/uploads.ts';
import { createJob } from '../../../src/domain/jobs/create-job.ts';
import { importFile } from '../../../src/files/import-file.ts';
import { newType, useEngine } from '../../support/engine.ts';

const t = useEngine();

async function makeImport(type = newType()): Promise<string> {
  const { database } = t.engine;
  const [row] = await database.call<{ id: string }>(createUpload, 3, null, 60_000, null, null, null, null);
  const bytes = Buffer.from('a');
  await database.call(appendUpload, row?.id, 0, 1, bytes, null, Buffer.alloc(0), null, 60_000);
  await database.call(finishUpload, row?.id, 1, hash('sha256', bytes, 'buffer'), 60_000);
  const { jobId } = await createJob(t.engine, {
    type,
    file: { source: { uploadId: row?.id as string }, format: 'LINES' },
  });
  return jobId;
}

const row = (line: number, problem?: string): Row => ({ line, payload: String(line), problem });
const at = (position: number, line: number) => ({ position, line, columns: ['a', 'b'] });
const overdue = (jobId: string) =>
  t.db.query(`update jobtree.file_import set leased_until = now() - interval '1 s' where job_id = $1`, [
    jobId,
  ]);
const payloads = async (jobId: string) =>
  (
    await t.db.query<{ payload: number }>(
      'select payload from jobtree.job_item where job_id = $1 order by position',
      [jobId],
    )
  ).map(({ payload }) => payload);

it('one of two servers gets an import; the other one takes over after a silence, and notes of the first no longer count', async () => {
  const jobId = await makeImport();
  // It is not in an object store.
  expect(await leaseImports(t.engine, 10, true)).toEqual([]);
  const [leases, others] = await Promise.all([leaseImports(t.engine, 10), leaseImports(t.otherEngine, 10)]);
  expect([...leases, ...others].map((one) => one.jobId)).toEqual([jobId]);
  const [first] = [...leases, ...others];
  if (first === undefined) throw new Error('nothing was leased');
  expect(first).toMatchObject({
    attempts: 1,
    place: { position: 0, line: 1, columns: null },
    options: { format: 'LINES' },
  });
  const note = { rows: [row(1)], place: at(2, 2), bytesRead: 2, next: 'KEEP' } as const;
  expect(await recordImport(t.engine, first, note)).toBe('NOTED');

  expect(await leaseImports(t.otherEngine, 10)).toEqual([]);
  await overdue(jobId);
  const [second] = await leaseImports(t.otherEngine, 10);
  if (second === undefined) throw new Error('nothing was leased');
  expect(second.place).toEqual(at(2, 2));
  expect(await recordImport(t.engine, first, { ...note, rows: [row(2)], place: at(4, 3) })).toBe('LOST');
  await failImport(t.engine, first, { code: 'INTERNAL', message: 'no' }, 0);
  expect(
    await recordImport(t.otherEngine, second, { ...note, rows: [row(2)], next: 'DONE', place: at(4, 3) }),
  ).toBe('NOTED');
  expect(await payloads(jobId)).toEqual([1, 2]);
  const { [Object.keys(await t.fold(jobId))[0] as string]: progress } = await t.fold(jobId);
  expect(progress).toMatchObject({ itemCount: 2, sealed: true });
  expect(await leaseImports(t.otherEngine, 10)).toEqual([]);
});

it('a returned import goes to the server that waited longest; attempts without progress are counted', async () => {
  const [first, second] = [await makeImport(), await makeImport()];
  const [lease] = await leaseImports(t.engine, 1);
  expect(lease?.jobId).toBe(first);
  if (lease === undefined) throw new Error('nothing was leased');
  const note = { rows: [], place: lease.place, bytesRead: 0 };
  expect(await recordImport(t.engine, lease, { ...note, next: 'GIVE_BACK' })).toBe('NOTED');
  expect((await leaseImports(t.engine, 1)).map((one) => one.jobId)).toEqual([second]);
  for (const attempts of [1, 2, 3]) {
    const [again] = await leaseImports(t.engine, 1);
    expect(again).toMatchObject({ jobId: first, attempts });
    await overdue(first);
  }
});

it('an import whose store is away is due again later and later, for an hour, and knows no error once it makes progress', async () => {
  const jobId = await makeImport();
  const leased = async () => {
    await overdue(jobId);
    const lease = (await leaseImports(t.engine, 10)).find((one) => one.jobId === jobId);
    if (lease === undefined) throw new Error('nothing was leased');
    return lease;
  };
  const away = { code: 'STORE_UNAVAILABLE', message: 'no answer' } as const;
  const row = async () => {
    const [read] = await t.db.query<{ waits: number; error_code: string | null; bytes_read: string }>(
      `select extract(epoch from leased_until - clock_timestamp())::float8 as waits, error_code, bytes_read
       from jobtree.file_import where job_id = $1`,
      [jobId],
    );
    return read;
  };
  for (const [seconds, waits] of [
    [0, 1],
    [10, 10],
    [0, 10],
    [1_800, 60],
  ] as const) {
    const lease = await leased();
    await t.db.query(
      `update jobtree.file_import set store_away_at = store_away_at - $2 * interval '1 s' where job_id = $1`,
      [jobId, seconds],
    );
    expect(await postponeImport(t.engine, lease, away)).toBe(true);
    const read = await row();
    expect(Math.abs((read?.waits ?? 0) - waits)).toBeLessThan(2);
    expect(read?.error_code).toBe('STORE_UNAVAILABLE');
  }
  const status = async () =>
    (await readFileImports(t.engine.database, [jobId])).map((read) => fileImportStatus(read))[0];
  let lease = await leased();
  expect(lease.attempts).toBe(1);
  const note = (position: number, bytesRead: number) =>
    recordImport(t.engine, lease, { rows: [], place: at(position, 1), bytesRead, next: 'KEEP' });
  await note(0, 5);
  expect(await row()).toMatchObject({ error_code: 'STORE_UNAVAILABLE', bytes_read: '5' });
  expect(await status()).toBe('WAITING');
  await note(2, 3);
  expect(await row()).toMatchObject({ error_code: null, bytes_read: '5' });
  expect(await status()).toBe('RUNNING');
  // Away anew, and then for too long.
  expect(await postponeImport(t.engine, lease, away)).toBe(true);
  lease = await leased();
  await t.db.query(
    `update jobtree.file_import set store_away_at = store_away_at - interval '1 hour' where job_id = $1`,
    [jobId],
  );
  expect(await postponeImport(t.engine, lease, away)).toBe(false);
  await failImport(t.engine, lease, away, 5);
});

it('good and bad lines keep their order, however they alternate', async () => {
  const type = newType();
  const jobId = await makeImport(type);
  const lease = (await leaseImports(t.engine, 10)).find((one) => one.jobId === jobId);
  if (lease === undefined) throw new Error('nothing was leased');
  const rows = Array.from({ length: 2_500 }, (_, i) =>
    row(i, i % 7 === 3 || i > 1_100 ? `Line ${i}: no` : undefined),
  );
  await recordImport(t.engine, lease, { rows, place: at(9, 9), bytesRead: 9, next: 'DONE' });
  expect(await payloads(jobId)).toEqual(rows.map(({ line }) => line));
  const bad = rows.filter(({ problem }) => problem !== undefined).length;
  const [counts] = await t.db.query(
    `select (select count(*)::int from jobtree.dead_letter where job_id = $1) as dead,
       (select count(*)::int from jobtree.failure where job_id = $1 and code = 'BAD_LINE') as failures,
       (select coalesce(sum(count), 0)::int from jobtree.queue_entry where job_id = $1) as ready,
       (select bad_lines::int from jobtree.file_import where job_id = $1) as noted`,
    [jobId],
  );
  expect(counts).toEqual({ dead: bad, failures: bad, ready: rows.length - bad, noted: bad });
  expect((await t.fold(jobId))[type]).toMatchObject({ itemCount: rows.length, failed: bad });
  const stored = rows.reduce((bytes, { payload }) => bytes + payload.length, 0);
  expect(await t.db.query('select bytes::int from jobtree.job_progress where job_id = $1', [jobId])).toEqual([
    { bytes: stored },
  ]);
});

it('a cancelled job takes nothing more, and its import is over', async () => {
  const jobId = await makeImport();
  const lease = (await leaseImports(t.engine, 10)).find((one) => one.jobId === jobId);
  if (lease === undefined) throw new Error('nothing was leased');
  await t.db.query('select jobtree.cancel_job($1)', [jobId]);
  const note = { rows: [row(1)], place: at(2, 2), bytesRead: 2, next: 'KEEP' } as const;
  expect(await recordImport(t.engine, lease, note)).toBe('SEALED');
  expect(await payloads(jobId)).toEqual([]);
  expect((await leaseImports(t.engine, 10)).map((one) => one.jobId)).not.toContain(jobId);
});

it.each([
  [10, null, 1],
  [11, 'INTERNAL', 0],
])('at attempt %i without progress an import ends with the error %s', async (attempts, error, items) => {
  const jobId = await makeImport();
  const leased = (await leaseImports(t.engine, 10)).find((one) => one.jobId === jobId);
  if (leased === undefined) throw new Error('nothing was leased');
  const { database } = t.engine;
  await importFile({
    engine: t.engine,
    uploads: new Uploads({ database, lifetimeMs: 60_000 }),
    leased: { ...leased, attempts },
    maxTextBytes: 1_000,
    signal: new AbortController().signal,
    othersWait: () => false,
  });
  expect(await readFileImports(database, [jobId])).toMatchObject([
    { finishedAt: expect.any(Date), errorCode: error, items },
  ]);
});

it('tenants take turns, and of one tenant what was given back does not come behind what is new', async () => {
  await t.db.query('update jobtree.file_import set finished_at = now() where finished_at is null');
  const more: string[] = [];
  for (let i = 0; i < 6; i++) more.push(await makeImport(`many//${newType()}`));
  const other = await makeImport(`other//${newType()}`);
  const [one] = await leaseImports(t.engine, 1);
  expect(one?.jobId).toBe(more[0]);
  // The tenant that has none yet, and then by time.
  expect((await leaseImports(t.engine, 1)).map(({ jobId }) => jobId)).toEqual([other]);
  const given = { rows: [], place: at(0, 1), bytesRead: 0, next: 'GIVE_BACK' } as const;
  await recordImport(t.engine, one as NonNullable<typeof one>, given);
  const late = await makeImport(`many//${newType()}`);
  const leased = await leaseImports(t.engine, 6);
  expect(leased.map(({ jobId }) => jobId).toSorted()).toEqual([...more].toSorted());
  expect((await leaseImports(t.engine, 6)).map(({ jobId }) => jobId)).toEqual([late]);
});

it('an import is there for a server in the very moment in which it was created', async () => {
  const jobId = await makeImport();
  const session = await t.db.connect();
  for (let i = 0; i < 10; i++) {
    await session.query('begin');
    await session.query('update jobtree.file_import set created_at = now() where job_id = $1', [jobId]);
    const { rows } = await session.query(textOf(leaseSome), [10, 1_000, false]);
    expect(rows).toMatchObject([{ job_id: jobId }]);
    await session.query('rollback');
  }
  await session.end();
  await t.db.query('update jobtree.file_import set finished_at = now() where job_id = $1', [jobId]);
});

it('an import that others wait for does not end its turn before it has got further', async () => {
  const jobId = await makeImport();
  const leased = (await leaseImports(t.engine, 10)).find((one) => one.jobId === jobId);
  if (leased === undefined) throw new Error('nothing was leased');
  const chunk = Buffer.from('line\n'.repeat(20_000));
  const uploads = {
    async *read() {
      yield chunk;
      // The next one is skipped, too, an hour later.
      const now = performance.now.bind(performance);
      vi.spyOn(performance, 'now').mockImplementation(() => now() + 3_600_000);
      yield chunk;
      yield chunk;
    },
  };
  const position = 2.5 * chunk.length;
  await importFile({
    engine: t.engine,
    uploads: uploads as unknown as Uploads,
    // Text in UTF-8 would not be skipped.
    leased: {
      ...leased,
      options: { ...leased.options, encoding: 'windows-1252' },
      place: { position, line: 1, columns: null },
    },
    maxTextBytes: 1_000_000,
    signal: new AbortController().signal,
    othersWait: () => true,
  });
  const [row] = await t.db.query<{ position: number }>(
    'select position::int from jobtree.file_import where job_id = $1',
    [jobId],
  );
  expect(row?.position).toBeGreaterThan(position);
});

it('a job that is sealed already does not fail with its import', async () => {
  const jobId = await makeImport();
  const lease = (await leaseImports(t.engine, 10)).find((one) => one.jobId === jobId);
  if (lease === undefined) throw new Error('nothing was leased');
  await t.db.query('select jobtree.seal_job($1)', [jobId]);
  await failImport(t.engine, lease, { code: 'BAD_STRUCTURE', message: 'no' }, 3);
  expect(await t.db.query('select failed_at, cancelled_at from jobtree.job where id = $1', [jobId])).toEqual([
    { failed_at: null, cancelled_at: null },
  ]);
});

it('a job whose lines are bad fails at once, although it waits for others', async () => {
  const [type, first] = [newType(), newType()];
  const { database } = t.engine;
  const [upload] = await database.call<{ id: string }>(createUpload, 0, null, 60_000, null, null, null, null);
  await database.call(finishUpload, upload?.id, 0, hash('sha256', '', 'buffer'), 60_000);
  const file = { source: { uploadId: upload?.id as string }, format: 'LINES' } as const;
  const ids = await t.create({
    type: newType(),
    children: [{ type: first }, { type, after: [first], file, toleratedFailureCount: 0 }],
  });
  const lease = (await leaseImports(t.engine, 10)).find((one) => one.jobId === ids[type]);
  if (lease === undefined) throw new Error('nothing was leased');
  const note = { rows: [row(1, 'bad')], place: at(2, 2), bytesRead: 2, next: 'KEEP' } as const;
  expect(await recordImport(t.engine, lease, note)).toBe('NOTED');
  const root = Object.values(ids)[0] as string;
  await t.fold(root);
  await t.finish();
  expect((await t.fold(root))[type]).toMatchObject({ failed: 1, outcome: 'FAILED' });
});

it('an upload is not removed while a job is created from it: whichever locks its row first wins', async () => {
  const { database } = t.engine;
  const [upload] = await database.call<{ id: string }>(createUpload, 0, null, 60_000, null, null, null, null);
  await database.call(finishUpload, upload?.id, 0, hash('sha256', '', 'buffer'), 60_000);
  await t.db.query(`update jobtree.upload set expires_at = now() - interval '1 s' where id = $1`, [
    upload?.id,
  ]);
  const creator = await t.db.connect();
  await creator.query('begin');
  const file = { source: { uploadId: upload?.id }, format: 'LINES' };
  await creator.query('select jobtree.create_job($1)', [JSON.stringify({ type: newType(), file })]);
  const removing = t.db.query<{ answer: string }>('select jobtree.remove_upload($1) as answer', [upload?.id]);
  expect(await t.db.query('select jobtree.prune_uploads() as pruned')).toEqual([{ pruned: false }]);
  await creator.query('commit');
  await creator.end();
  expect(await removing).toEqual([{ answer: 'USED' }]);
});
