/** Servers that share imports: one at a time, and none adds what another one has taken over. */
import { expect, it } from 'vitest';
import { createJob } from '../../src/domain/jobs/create-job.ts';
import { failImport, leaseImports, noteImport, type Row } from '../../src/domain/uploads/file-imports.ts';
import { newType, useEngine } from '../support/engine.ts';

const t = useEngine();

async function makeImport(type = newType()): Promise<string> {
  const [row] = await t.db.query<{ id: string }>(`select jobtree.create_upload(3, null, 60000, null) as id`);
  await t.db.query(`select jobtree.append_upload($1, 0, 1, 'a', null, '', null, 60000)`, [row?.id]);
  await t.db.query(`select jobtree.finish_upload($1, 1, sha256('a'), 60000)`, [row?.id]);
  const { jobId } = await createJob(t.engine, {
    type,
    file: { source: { uploadId: row?.id as string }, format: 'LINES' },
  });
  return jobId;
}

const row = (line: number, problem?: string): Row => ({ line, payload: String(line), problem });
const at = (position: number, line: number) => ({ position, line, columns: null });
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
  expect(await noteImport(t.engine, first, note)).toBe('NOTED');

  expect(await leaseImports(t.otherEngine, 10)).toEqual([]);
  await overdue(jobId);
  const [second] = await leaseImports(t.otherEngine, 10);
  if (second === undefined) throw new Error('nothing was leased');
  expect(second.place).toEqual(at(2, 2));
  expect(await noteImport(t.engine, first, { ...note, rows: [row(2)], place: at(4, 3) })).toBe('LOST');
  await failImport(t.engine, first, { code: 'INTERNAL', message: 'no' }, 0);
  expect(
    await noteImport(t.otherEngine, second, { ...note, rows: [row(2)], next: 'DONE', place: at(4, 3) }),
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
  expect(await noteImport(t.engine, lease, { ...note, next: 'GIVE_BACK' })).toBe('NOTED');
  expect((await leaseImports(t.engine, 1)).map((one) => one.jobId)).toEqual([second]);
  for (const attempts of [1, 2, 3]) {
    const [again] = await leaseImports(t.engine, 1);
    expect(again).toMatchObject({ jobId: first, attempts });
    await overdue(first);
  }
});

it('good and bad lines keep their order, however they alternate', async () => {
  const type = newType();
  const jobId = await makeImport(type);
  const lease = (await leaseImports(t.engine, 10)).find((one) => one.jobId === jobId);
  if (lease === undefined) throw new Error('nothing was leased');
  const rows = Array.from({ length: 2_500 }, (_, i) =>
    row(i, i % 7 === 3 || i > 1_100 ? `Line ${i}: no` : undefined),
  );
  await noteImport(t.engine, lease, { rows, place: at(9, 9), bytesRead: 9, next: 'DONE' });
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
});

it('a cancelled job takes nothing more, and its import is over', async () => {
  const jobId = await makeImport();
  const lease = (await leaseImports(t.engine, 10)).find((one) => one.jobId === jobId);
  if (lease === undefined) throw new Error('nothing was leased');
  await t.db.query('select jobtree.cancel_job($1)', [jobId]);
  const note = { rows: [row(1)], place: at(2, 2), bytesRead: 2, next: 'KEEP' } as const;
  expect(await noteImport(t.engine, lease, note)).toBe('SEALED');
  expect(await payloads(jobId)).toEqual([]);
  expect((await leaseImports(t.engine, 10)).map((one) => one.jobId)).not.toContain(jobId);
});

it('an upload is not removed while a job is created from it: whichever locks its row first wins', async () => {
  const [upload] = await t.db.query<{ id: string }>(
    'select jobtree.create_upload(0, null, 60000, null) as id',
  );
  await t.db.query(`select jobtree.finish_upload($1, 0, sha256(''), 60000)`, [upload?.id]);
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
