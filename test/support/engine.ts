/** The operations on a database of the test's own, with what they told the rest of the server kept for inspection. */
import pino from 'pino';
import { afterAll, beforeAll } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { CallbackAddresses } from '../../src/domain/callbacks/addresses.ts';
import type { Assignment } from '../../src/domain/claims/assignment.ts';
import { claimItems } from '../../src/domain/claims/claim-items.ts';
import { promoteBlocked, promoteDue, sweepLeases } from '../../src/domain/claims/sweep.ts';
import { createEngine } from '../../src/domain/create-engine.ts';
import type { Engine } from '../../src/domain/engine/engine.ts';
import { createJob, type NewJob } from '../../src/domain/jobs/create-job.ts';
import { finishSome } from '../../src/domain/operations/finish.ts';
import { foldProgress } from '../../src/domain/progress/fold-progress.ts';
import { type JobProgress, readTrees } from '../../src/domain/progress/progress.ts';
import { type ItemKey, parseItemId } from '../../src/domain/values/ids.ts';
import { createDatabase, type TestDatabase } from './database.ts';

export interface TestEngine {
  readonly engine: Engine<Database>;
  /** Another server on the same database, with a memory of its own. */
  readonly otherEngine: Engine<Database>;
  readonly db: TestDatabase;
  /** Types of which operations said that they may be claimable, in order. */
  readonly ready: string[];
  /** The same, with how many items. */
  readonly announced: [string, number][];
  /** Types of which claims found all that there was, in order. */
  readonly dry: string[];
  /** Types whose queue had no more room for a claim, and when to look again, in order. */
  readonly limited: { readonly type: string; readonly againInMs: number }[];
  /** How many operations said that they left something to finish. */
  readonly unfinished: number;
  /** Creates a tree and gives the ids of its jobs by type. */
  create(job: NewJob): Promise<Record<string, string>>;
  /** Claims one item of the type, or fails the test. */
  claimOne(type: string, worker?: string): Promise<Assignment>;
  /** The items of a job, in order. */
  items(jobId: string): Promise<ItemKey[]>;
  /** Has the heartbeats of these assignments be overdue; the others of their leases keep their deadlines. */
  expire(...assignmentIds: string[]): Promise<void>;
  /** What a server does now and then: takes back what is lost, makes ready what is due, and lets keys go on. */
  sweep(): Promise<void>;
  /** Finishes cancellations and deletions, to the end. */
  finish(): Promise<void>;
  /** Folds the tree until nothing is left to do, and gives the progress of its jobs by type. */
  fold(rootId: string): Promise<Record<string, JobProgress>>;
}

/** To be called at the top of a test file. */
export function useEngine(): TestEngine {
  const test = {
    ready: [] as string[],
    announced: [] as [string, number][],
    dry: [] as string[],
    limited: [] as TestEngine['limited'],
    unfinished: 0,
  } as {
    -readonly [key in keyof TestEngine]: TestEngine[key];
  };
  beforeAll(async () => {
    test.db = await createDatabase();
    const parts = {
      database: test.db.open(),
      limits: { maxJsonBytes: 1_000_000 },
      callbackAddresses: new CallbackAddresses({ networks: [] }),
      retention: { retentionSeconds: 604_800, idleSeconds: 86_400, idleExpirySeconds: null },
      effects: {
        touched: () => {},
        started: () => {},
        ready: (counts: ReadonlyMap<string, number>) => {
          test.ready.push(...counts.keys());
          test.announced.push(...counts);
        },
        claimed: (type: string, _taken: number, dry: boolean) => {
          if (dry) test.dry.push(type);
        },
        limited: (type: string, againInMs: number) => test.limited.push({ type, againInMs }),
        awaited: () => () => {},
        unfinished: () => test.unfinished++,
        importable: () => {},
      },
      logger: pino({ level: 'silent' }),
      logPayloads: false,
      durableClaims: true,
      slowness: { factor: 3, afterMs: 10_000 },
    };
    test.engine = createEngine(parts);
    test.otherEngine = createEngine(parts);
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
  test.items = async (jobId) => {
    const rows = await test.db.query<{ position: number }>(
      'select position::float8 from jobtree.job_item where job_id = $1 order by position',
      [jobId],
    );
    return rows.map(({ position }) => ({ jobId, position }));
  };
  test.expire = async (...assignmentIds) => {
    const rows = await test.db.query(
      `update jobtree.lease l
       set check_at = p.past, deadlines = (
         select array_agg(case when jobtree.assignment_id(l.id, n) = any ($1) then p.past else coalesce(l.deadlines[n], l.heartbeat_at + 3 * j.heartbeat_interval_ms * interval '1 ms') end order by n)
         from generate_series(1, l.count) n
       )
       from (select now() - interval '1 second' as past) p, jobtree.job j
       where j.id = l.job_id and l.id in (select jobtree.lease_id(u) from unnest($1::uuid[]) u) and l.check_at is not null
       returning l.id`,
      [assignmentIds],
    );
    if (rows.length === 0) throw new Error('None of the assignments is held.');
  };
  test.sweep = async () => {
    while ((await sweepLeases(test.engine, new Date(0))).more);
    while ((await promoteDue(test.engine)).more);
    await promoteBlocked(test.engine);
  };
  test.finish = async () => {
    while (await finishSome(test.engine, new AbortController().signal));
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

/** The key of the item that an assignment is for. */
export function itemOf({ itemId }: Assignment): ItemKey {
  const key = parseItemId(itemId);
  if (key === undefined) throw new Error(`${itemId} is no id of an item.`);
  return key;
}

let last = 0;
/** A job type that no other test uses. */
export const newType = (name = 'type') => `${name}-${process.pid}-${++last}`;

/** An id for a claim that may be repeated: all have the same first random bits, and most the same millisecond. */
export function newClaimId(now = new Date()): string {
  const time = now.getTime().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${(++last).toString().padStart(12, '0')}`;
}
