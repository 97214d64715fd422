/**
 * Random commands on two servers, compared with a model; and many workers at once, with everything that can go wrong between them.
 * Both print the seed, with which a failure repeats:
 *
 *     PROPERTY_COMMANDS   commands in all, in runs of up to 300                     (200)
 *     PROPERTY_EVERY      after so many commands all invariants are checked          (25)
 *     PROPERTY_ITEMS, PROPERTY_WORKERS, PROPERTY_RUNS   how large the second test is (400, 32, 1)
 *     PROPERTY_SEED       the seed that was printed
 *     PROPERTY_PATH       the path of a failure: repeats that run alone, and makes it smaller
 */
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { claimItems } from '../../src/domain/claims/claim-items.ts';
import { heartbeat } from '../../src/domain/claims/heartbeat.ts';
import { findUnfolded, sweepLeases } from '../../src/domain/claims/sweep.ts';
import { createJob } from '../../src/domain/jobs/create-job.ts';
import { reportOutcomes } from '../../src/domain/reports/report-outcomes.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { checkAll, commandsOf } from '../support/model/commands.ts';
import { actions, Crowd } from '../support/model/crowd.ts';
import { checkInvariants } from '../support/model/invariants.ts';
import { Model } from '../support/model/model.ts';
import { System } from '../support/model/system.ts';

const seed = Number(process.env.PROPERTY_SEED ?? Date.now() % 2 ** 31);
const path = process.env.PROPERTY_PATH;
const replay = { seed, endOnFailure: path === undefined, ...(path === undefined ? {} : { path }) };

let db: TestDatabase;
let databases: [Database, Database];
beforeAll(async () => {
  console.log(`PROPERTY_SEED=${seed}`);
  db = await createDatabase();
  databases = [db.open(4), db.open(4)];
});
afterAll(async () => {
  await Promise.all(databases.map((database) => database.close()));
  await db.drop();
});

async function clear(): Promise<void> {
  const tables =
    'job job_progress progress_delta stored stored_delta job_item queue_entry lease outcome failure cancellation dead_letter replay operation tree queue held_delta rate_slice serialize_key blocked_item ended_head'.split(
      ' ',
    );
  await db.query(`truncate ${tables.map((table) => `jobtree.${table}`).join(', ')}`);
}

describe('random commands', () => {
  const total = Number(process.env.PROPERTY_COMMANDS ?? 200);
  const maxCommands = Math.min(300, total);

  it('leave the tables as the model predicts, with failures at any point', async () => {
    const counter = { commands: 0, every: Number(process.env.PROPERTY_EVERY ?? 25) };
    const property = fc.asyncProperty(
      fc.commands(commandsOf(counter), { maxCommands, size: 'max' }),
      async (commands) => {
        if (counter.commands >= total) return;
        await clear();
        const system = new System(db, databases);
        const model = new Model();
        await fc.asyncModelRun(() => ({ model, real: system }), commands);
        await settle(model, system);
      },
    );
    await fc.assert(property, { ...replay, numRuns: Math.ceil((total / maxCommands) * 10) });
    if (path === undefined) expect(counter.commands).toBeGreaterThanOrEqual(total);
    console.log(`${counter.commands} commands`);
  }, 3_600_000);

  /** Nothing is left to do: what any server finds unfinished, another one finishes. */
  async function settle(model: Model, system: System): Promise<void> {
    await system.finish();
    await system.promoteBlocked(model, system.engines[1]);
    await findUnfolded(system.engines[1], { from: 0, seen: null });
    for (const tree of model.trees.values()) await system.fold(model, system.engines[1], tree);
    await system.promoteBlocked(model, system.engines[1]);
    await checkAll(model, system);
  }
});

describe('many workers at once', () => {
  const items = Number(process.env.PROPERTY_ITEMS ?? 400);
  const workers = Number(process.env.PROPERTY_WORKERS ?? 32);
  const plan = fc.record({
    workers: fc.constant(workers),
    batch: fc.integer({ min: 1, max: 40 }),
    keys: fc.array(fc.nat(items), { minLength: items, maxLength: items }),
    actions: fc.array(fc.constantFrom(...actions), { minLength: 50, maxLength: 50 }),
    lines: fc.constantFrom(0, 1, 5, 50),
    feedsLines: fc.boolean(),
    claim: fc.integer({ min: 1, max: 30 }),
  });

  it('lose nothing and count everything once, whatever happens between a claim and a report', async () => {
    const property = fc.asyncProperty(plan, async (given) => {
      await clear();
      const { accepted, jobs } = await new Crowd(db, new System(db, databases).engines, given).run();
      const [parent, child] = jobs;
      expect(parent?.itemCount).toBe(new Set(given.keys).size);
      expect(child).toMatchObject({ itemCount: parent?.succeeded, succeeded: parent?.succeeded, failed: 0 });
      expect((parent?.succeeded ?? 0) + (child?.succeeded ?? 0)).toBe(accepted);
      await checkInvariants(db);
      const pending =
        'select from jobtree.queue_entry union all select from jobtree.blocked_item union all select from jobtree.lease where check_at is not null';
      expect(await db.query(pending)).toEqual([]);
    });
    await fc.assert(property, { ...replay, numRuns: Number(process.env.PROPERTY_RUNS ?? 1) });
  }, 3_600_000);
});

describe('cases found by random commands', () => {
  let system: System;
  beforeEach(async () => {
    await clear();
    system = new System(db, databases);
  });
  const claimed = async (type: string, items: number) => {
    await createJob(system.engines[0], { type, items: Array.from({ length: items }, () => ({})) });
    return (await claimItems(system.engines[0], 'w', [{ type, limit: items }])).map(({ id }) => id);
  };

  it('a sweep skips a lease whose silent items were all reported', async () => {
    const [silent = '', alive = ''] = await claimed('half-silent', 2);
    await heartbeat(system.engines[0], [alive]);
    await db.query(
      `update jobtree.lease set check_at = now() - interval '1 s', deadlines[1] = now() - interval '1 s'
       where job_id = (select id from jobtree.job where type = 'half-silent')`,
    );
    await reportOutcomes(system.engines[0], [{ assignmentId: silent, result: null }]);
    expect(await sweepLeases(system.engines[0], new Date(0))).toEqual({ lost: 0, more: false });
    expect(await heartbeat(system.engines[0], [alive])).toEqual(['HELD']);
  });

  it('the first of a failure and a result for one assignment in one call counts', async () => {
    const [first = '', second = ''] = await claimed('contradicted', 2);
    const result = (assignmentId: string) => ({ assignmentId, result: 1 });
    const failure = (assignmentId: string) => ({ assignmentId, failure: { code: 'E', message: 'no' } });
    const answers = await reportOutcomes(system.engines[0], [
      failure(first),
      result(first),
      result(second),
      failure(second),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['ACCEPTED', 'STALE', 'ACCEPTED', 'STALE']);
  });
});
