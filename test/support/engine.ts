/** The operations on a database of the test's own, with what they told the rest of the server kept for inspection. */
import pino from 'pino';
import { afterAll, beforeAll } from 'vitest';
import type { Assignment } from '../../src/domain/assignment.ts';
import { claimItems } from '../../src/domain/claim-items.ts';
import { createEngine } from '../../src/domain/create-engine.ts';
import { createJob, type NewJob } from '../../src/domain/create-job.ts';
import type { Engine } from '../../src/domain/engine.ts';
import { foldProgress } from '../../src/domain/fold-progress.ts';
import { type JobProgress, readTrees } from '../../src/domain/progress.ts';
import { createDatabase, type TestDatabase } from './database.ts';

export interface TestEngine {
  readonly engine: Engine;
  readonly db: TestDatabase;
  /** Types of which operations said that they may be claimable, in order. */
  readonly ready: string[];
  /** Creates a tree and gives the ids of its jobs by type. */
  create(job: NewJob): Promise<Record<string, string>>;
  /** Claims one item of the type, or fails the test. */
  claimOne(type: string, worker?: string): Promise<Assignment>;
  /** Folds the tree until nothing is left to do, and gives the progress of its jobs by type. */
  fold(rootId: string): Promise<Record<string, JobProgress>>;
}

/** To be called at the top of a test file. */
export function useEngine(): TestEngine {
  const test = { ready: [] as string[] } as { -readonly [key in keyof TestEngine]: TestEngine[key] };
  beforeAll(async () => {
    test.db = await createDatabase();
    test.engine = createEngine({
      database: test.db.open(),
      limits: { maxJsonBytes: 1_000_000 },
      effects: { touched: () => {}, ready: (counts) => test.ready.push(...counts.keys()), claimed: () => {} },
      logger: pino({ level: 'silent' }),
      logPayloads: false,
    });
  });
  afterAll(async () => {
    await test.engine.database.close();
    await test.db.drop();
  });
  test.create = async (job) => {
    const { jobId } = await createJob(test.engine, job);
    const rows = await test.db.query<{ id: string; type: string }>(
      'select id, type from jobtree.job where root_id = $1',
      [jobId],
    );
    return Object.fromEntries(rows.map(({ id, type }) => [type, id]));
  };
  test.claimOne = async (type, worker = 'worker') => {
    const [assignment] = await claimItems(test.engine, worker, [{ type, limit: 1 }]);
    if (assignment === undefined) throw new Error(`There is no ${type} to claim.`);
    return assignment;
  };
  test.fold = async (rootId) => {
    while ((await foldProgress(test.engine, rootId, 0))?.retry !== false);
    const [tree] = await readTrees(test.engine.database, [rootId]);
    const types = await test.db.query<{ id: string; type: string }>(
      'select id, type from jobtree.job where root_id = $1',
      [rootId],
    );
    const byId = new Map(types.map(({ id, type }) => [id, type]));
    return Object.fromEntries((tree?.jobs ?? []).map((job) => [byId.get(job.jobId) as string, job]));
  };
  return test;
}

let last = 0;
/** A job type that no other test uses. */
export const newType = (name = 'type') => `${name}-${process.pid}-${++last}`;
