/** The percentage of a job that is sealed while more comes: it is that of all its items from the start, so it never goes back. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { addItems } from '../../../src/domain/items/add-items.ts';
import { sealJob } from '../../../src/domain/jobs/seal-job.ts';
import { foldTrees } from '../../../src/domain/progress/fold-progress.ts';
import { percent, readProgress, readTreeCounts, treePercent } from '../../../src/domain/progress/progress.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { newType, useEngine } from '../../support/engine.ts';

const t = useEngine();

/** What a job and its tree say, read as anybody who comes now would. */
async function said(jobId: string) {
  const [job] = await readProgress(t.engine.database, [jobId]);
  const tree = (await readTreeCounts(t.engine.database, [jobId])).get(jobId);
  if (job === undefined || tree === undefined) throw new Error('There is no such job.');
  expect(treePercent(tree)).toBe(percent(job));
  return { sealed: job.sealed, percent: percent(job) };
}

/** A job of which 8 of 10 items have succeeded. */
async function started(): Promise<string> {
  const type = newType();
  const jobs = await t.create({ type, items: Array(10).fill({ priority: 1 }) });
  const id = jobs[type] as string;
  for (let n = 0; n < 8; n++)
    await reportOutcomes(t.engine, [{ assignmentId: (await t.claimOne(type)).id, result: null }]);
  await t.fold(id);
  expect(await said(id)).toEqual({ sealed: false, percent: null });
  return id;
}

const open = { sealed: false, percent: null };
const ten = Array(10).fill({ priority: 1 });

describe('read when', () => {
  it('items and the seal have not been folded', async () => {
    const id = await started();
    await addItems(t.engine, id, ten, { seal: false });
    await sealJob(t.engine, id);
    expect(await said(id)).toEqual(open);
    await t.fold(id);
    expect(await said(id)).toEqual({ sealed: true, percent: 40 });
  });

  it('items that seal the job have not been folded', async () => {
    const id = await started();
    await addItems(t.engine, id, ten, { seal: true });
    expect(await said(id)).toEqual(open);
    await t.fold(id);
    expect(await said(id)).toEqual({ sealed: true, percent: 40 });
  });

  it.each([
    ['the start', () => 0],
    ['a mark', () => t.db.query<{ id: number }>('select max(id)::float8 as id from jobtree.progress_delta')],
  ])(
    'a transaction that adds to it since before it was sealed has not ended: folds from %s',
    async (_, mark) => {
      const id = await started();
      const producer = await t.db.connect();
      onTestFinished(() => producer.end());
      await producer.query('begin');
      await producer.query('select jobtree.add_items($1, $2)', [id, JSON.stringify(ten)]);
      await sealJob(t.engine, id);
      const found = await mark();
      const fromDelta = Array.isArray(found) ? (found[0]?.id as number) : 0;
      const [fold] = (await foldTrees(t.engine, [{ rootId: id, fromDelta }])).values();
      expect(fold).toMatchObject({ retry: true });
      expect(await said(id)).toEqual(open);
      await producer.query('commit');
      expect(await said(id)).toEqual(open);
      await t.fold(id);
      expect(await said(id)).toEqual({ sealed: true, percent: 40 });
    },
  );
});

it('a job that is created sealed is so at once', async () => {
  const type = newType();
  for (const items of [[{}], ten]) {
    const id = (await t.create({ type, items, sealed: true }))[type] as string;
    expect(await said(id)).toEqual({ sealed: true, percent: 0 });
    await t.fold(id);
    expect(await said(id)).toEqual({ sealed: true, percent: 0 });
    await t.db.query('select jobtree.cancel_job($1)', [id]);
    await t.finish();
    await t.fold(id);
  }
});
