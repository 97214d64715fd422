/**
 * Many producers, workers and a sweeper at once, with everything that can go wrong between them: calls repeated after a
 * lost response, holds lost, released and reported late, from two servers' worth of operations. Afterwards the books must
 * balance. On failure fast-check prints the seed; `FC_SEED` repeats it. `PROPERTY_ITEMS` and `PROPERTY_WORKERS` make it
 * larger.
 */
import fc from 'fast-check';
import pino from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addItems } from '../../src/domain/add-items.ts';
import { claimItems } from '../../src/domain/claim-items.ts';
import { createEngine } from '../../src/domain/create-engine.ts';
import type { Engine } from '../../src/domain/engine.ts';
import { heartbeat } from '../../src/domain/heartbeat.ts';
import { releaseAssignments } from '../../src/domain/release-assignments.ts';
import { type Report, reportOutcomes } from '../../src/domain/report-outcomes.ts';
import { sealJob } from '../../src/domain/seal-job.ts';
import { sweep } from '../../src/domain/sweep.ts';
import { JobSealedError } from '../../src/errors.ts';
import { FoldScheduler } from '../../src/events/fold-scheduler.ts';
import { newType, useEngine } from '../support/engine.ts';

const t = useEngine();
const itemTotal = Number(process.env.PROPERTY_ITEMS ?? 400);
const workerTotal = Number(process.env.PROPERTY_WORKERS ?? 8);
const logger = pino({ level: 'silent' });

/** Two servers: each with its own pool, merged calls, low-water marks and folds. */
const servers: { engine: Engine; folds: FoldScheduler }[] = [];
beforeAll(() => {
  for (let i = 0; i < 2; i++) {
    const database = t.db.open(12);
    const folds = new FoldScheduler({ database, intervalMs: 5, logger });
    const engine = createEngine({
      database,
      limits: { maxJsonBytes: 1_000_000 },
      effects: {
        touched: (rootId, fromStart) => folds.touch(rootId, fromStart),
        ready: () => {},
        claimed: () => {},
      },
      logger,
      logPayloads: false,
    });
    servers.push({ engine, folds });
  }
});
afterAll(async () => {
  for (const { engine, folds } of servers) {
    await folds.close();
    await engine.database.close();
  }
});

/** What a worker does with a claimed item; every choice comes from fast-check. */
const action = fc.constantFrom(
  'succeed',
  'succeed',
  'succeed',
  'succeedTwice',
  'fail',
  'failTwice',
  'release',
  'lose',
  'loseThenReport',
  'beat',
);
const plan = fc.record({
  batch: fc.integer({ min: 1, max: 40 }),
  /** Keys collide, so that some items are added twice. */
  keys: fc.array(fc.integer({ min: 0, max: itemTotal }), { minLength: itemTotal, maxLength: itemTotal }),
  actions: fc.array(action, { minLength: 50, maxLength: 50 }),
  claim: fc.integer({ min: 1, max: 30 }),
});

it('counters equal rows, a tree completes once, and nothing is lost, whatever happens between add and report', async () => {
  await fc.assert(
    fc.asyncProperty(plan, async ({ batch, keys, actions, claim }) => {
      const [parent, child] = [newType('parent'), newType('child')];
      const jobs = await t.create({
        type: parent,
        backoffMs: [0],
        maxFailuresPerItem: 2,
        children: [{ type: child, backoffMs: [0], maxFailuresPerItem: 1_000, feed: {} }],
      });
      const root = jobs[parent] ?? '';
      let produced = false;
      let turn = 0;
      const accepted = new Map<string, number>();

      const produce = async (from: number) => {
        for (let i = from; i < keys.length; i += 2 * batch) {
          const items = keys.slice(i, i + batch).map((key) => ({ payload: key, dedupeKey: `k${key}` }));
          const { engine } = servers[turn++ % 2] as (typeof servers)[number];
          await addItems(engine, root, items, { seal: false });
          // The response was lost: the same call again.
          if (i % 3 === 0) await addItems(engine, root, items, { seal: false });
        }
      };
      const report = async (engine: Engine, reports: Report[]) => {
        const answers = await reportOutcomes(engine, reports);
        for (const [i, { status }] of answers.entries()) {
          const { assignmentId, failure } = reports[i] as Report;
          if (status === 'ACCEPTED' && failure === undefined) {
            accepted.set(assignmentId, (accepted.get(assignmentId) ?? 0) + 1);
          }
        }
        return answers.map(({ status }) => status);
      };
      const isComplete = async () => {
        const [row] = await t.db.query<{ open_jobs: number }>(
          'select open_jobs from jobtree.job_progress where job_id = $1',
          [root],
        );
        return produced && row?.open_jobs === 0;
      };
      const work = async (name: string, engine: Engine) => {
        while (!(await isComplete())) {
          const held = await claimItems(engine, name, [
            { type: parent, limit: claim },
            { type: child, limit: claim },
          ]);
          for (const { id, type } of held) {
            const success = { assignmentId: id, result: id };
            const failure = { assignmentId: id, failure: { code: 'E', message: 'no' } };
            // A child's item can fail very often, so that in the end all of them succeed.
            switch (actions[turn++ % actions.length]) {
              case 'succeedTwice':
                expect(await report(engine, [success, success])).toEqual(['ACCEPTED', 'DUPLICATE']);
                break;
              case 'fail':
                await report(engine, [failure]);
                break;
              case 'failTwice': {
                const statuses = await report(engine, [failure, failure]);
                expect(statuses).toEqual(['ACCEPTED', 'DUPLICATE']);
                break;
              }
              case 'release':
                await releaseAssignments(engine, [id]);
                expect(await report(engine, [success])).toEqual(['STALE']);
                break;
              case 'lose':
                await t.db.query(
                  `update jobtree.assignment set deadline_at = now() - interval '1 s' where id = $1`,
                  [id],
                );
                break;
              case 'loseThenReport':
                await t.db.query(
                  `update jobtree.assignment set deadline_at = now() - interval '1 s' where id = $1`,
                  [id],
                );
                expect(['ACCEPTED', 'STALE']).toContain((await report(engine, [success]))[0]);
                break;
              case 'beat':
                await heartbeat(engine, [id]);
                expect(await report(engine, [success])).toEqual(['ACCEPTED']);
                break;
              default:
                expect([type, ...(await report(engine, [success]))]).toEqual([type, 'ACCEPTED']);
            }
          }
        }
      };
      const keepSweeping = async () => {
        while (!(await isComplete())) await sweep((servers[turn++ % 2] as (typeof servers)[number]).engine);
      };

      await Promise.all([
        (async () => {
          await Promise.all([produce(0), produce(batch)]);
          await sealJob(servers[0]?.engine as Engine, root);
          await expect(addItems(t.engine, root, [{}], { seal: false })).rejects.toThrow(JobSealedError);
          produced = true;
        })(),
        ...Array.from({ length: workerTotal }, (_, i) =>
          work(`w${i}`, (servers[i % 2] as (typeof servers)[number]).engine),
        ),
        keepSweeping(),
      ]);

      expect([...accepted.values()].every((times) => times === 1)).toBe(true);
      await checkBooks(root, new Set(keys).size, accepted.size);
      const progress = await t.fold(root);
      expect(progress[child]?.itemCount).toBe(progress[parent]?.succeeded);
      expect(progress[child]?.failed).toBe(0);
    }),
    {
      numRuns: Number(process.env.PROPERTY_RUNS ?? 4),
      ...(process.env.FC_SEED === undefined ? {} : { seed: Number(process.env.FC_SEED) }),
      endOnFailure: true,
    },
  );
}, 600_000);

async function checkBooks(root: string, distinctKeys: number, acceptedSuccesses: number): Promise<void> {
  const [books] = await t.db.query(
    `select
       (select count(*)::int from jobtree.job_item i join jobtree.job j on j.id = i.job_id
        where j.id = $1) as added,
       (select count(*)::int from jobtree.assignment a where a.root_id = $1 and a.outcome = 'succeeded') as successes,
       (select count(*)::int from jobtree.assignment a where a.root_id = $1 and a.finished_at is null) as holds,
       (select count(*)::int from jobtree.queue_entry q where q.root_id = $1) as waiting,
       (select count(*)::int from jobtree.progress_delta d where d.root_id = $1
        and d.items + d.succeeded + d.failed + d.cancelled > 0) as unfolded,
       (select count(*)::int from jobtree.job_progress p
        where p.root_id = $1 and p.completed_at is not null
          and p.item_count = (select count(*) from jobtree.job_item i where i.job_id = p.job_id)
          and p.failed = (select count(*) from jobtree.job_item i where i.job_id = p.job_id and i.failed_at is not null)
          and p.succeeded = (
            select count(*) from jobtree.job_item i join jobtree.assignment a on a.held_item_id = i.id
            where i.job_id = p.job_id and a.outcome = 'succeeded'
          )) as balanced_jobs`,
    [root],
  );
  expect(books).toEqual({
    added: distinctKeys,
    successes: acceptedSuccesses,
    holds: 0,
    waiting: 0,
    unfolded: 0,
    balanced_jobs: 2,
  });
}
