/**
 * The progress of a job: absolute counts, never changes. The table and the notifications of folds have the same shape, so a
 * message can be lost, repeated or overtaken, and the newer of two states still wins.
 */
import { z } from 'zod';
import type { Queries } from '../../db/database.ts';
import { cancelReasons, type JobOutcome, jobOutcomes, jobStatus } from '../items/item-state.ts';

const count = z.int().min(0);
/** Servers tell each other the same. */
export const jobProgress = z.object({
  jobId: z.string(),
  /** How often the job was reopened: counts only grow within one generation. */
  generation: count,
  itemCount: count,
  succeeded: count,
  failed: count,
  cancelled: count,
  /** It is sealed, and all its items are counted. */
  sealed: z.boolean(),
  /** Milliseconds since 1970, when the first item was claimed. */
  startedAt: z.number().nullable(),
  completedAt: z.number().nullable(),
  /** Null until it is complete. */
  outcome: z.enum(jobOutcomes).nullable(),
  /** Why it was cancelled; null if it was not. */
  cancelReason: z.enum(cancelReasons).nullable(),
  /** How often it has been complete. */
  completions: count,
});
export type JobProgress = Readonly<z.infer<typeof jobProgress>>;

/** Some or all jobs of one tree. */
export interface TreeProgress {
  readonly root: string;
  /** How many jobs of the tree are not complete. */
  readonly openJobs: number;
  readonly jobs: readonly JobProgress[];
}
export const treeProgress: z.ZodType<TreeProgress> = z.object({
  root: z.string(),
  openJobs: count,
  jobs: z.array(jobProgress),
});

/** The progress of a tree: the sums over its jobs. */
export interface TreeCounts {
  readonly generations: number;
  readonly steps: number;
  /** How many jobs of the tree are not complete. */
  readonly openJobs: number;
  /** How many jobs of the tree may get more items. */
  readonly unsealedJobs: number;
  /** How many jobs the tree has. */
  readonly jobs: number;
  readonly itemCount: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
}

export function itemProgress(progress: Pick<JobProgress, 'succeeded' | 'failed' | 'cancelled'>): number {
  return progress.succeeded + progress.failed + progress.cancelled;
}

/** Null while items can still be added, since the share of an unknown whole means nothing; 100 only when complete. */
export function percent(progress: JobProgress): number | null {
  if (!progress.sealed) return null;
  return progress.completedAt !== null ? 100 : shareDone(progress);
}

/** The share of all items of a tree. Null while any of its jobs can get more; 100 only when all of them are complete. */
export function treePercent(counts: TreeCounts): number | null {
  if (counts.openJobs === 0) return 100;
  return counts.unsealedJobs > 0 ? null : shareDone(counts);
}

/** Each job is a stage: a fed one begins when its parent is complete, and so gets no more items. Never goes back within a generation. */
export function treeStage({ jobs, unsealedJobs }: TreeCounts): number {
  return Math.max(1, jobs - unsealedJobs);
}

function shareDone(counts: Counts): number {
  return Math.min(99, Math.floor((100 * itemProgress(counts)) / Math.max(1, counts.itemCount)));
}

const numbers = new Intl.NumberFormat('en');

export function progressMessage(progress: JobProgress): string {
  switch (jobStatus(progress)) {
    case 'WAITING':
      // Without a worker, such as lines of a file that can't be read.
      return itemProgress(progress) === 0
        ? 'Waiting for job to start…'
        : `Waiting for job to start, ${soFar(progress)} are finished already…`;
    case 'COMPLETED':
      if (progress.outcome === 'FAILED') return 'Job failed';
      return progress.outcome === 'PARTIAL' ? 'Job complete with failures' : 'Job complete';
    case 'CANCELLED':
      return progress.cancelReason === 'IDLE' ? 'Job cancelled: it was idle for too long' : 'Job cancelled';
    case 'RUNNING': {
      const share = percent(progress);
      return share === null ? `Job running, ${soFar(progress)} so far…` : `Job running, ${share}% complete…`;
    }
  }
}

export function treeMessage(counts: TreeCounts, outcome: JobOutcome | null): string {
  if (counts.openJobs === 0) return treeEnds[outcome ?? 'SUCCEEDED'];
  const share = treePercent(counts);
  if (share !== null) return `Tree running, ${share}% complete…`;
  return `Tree running, stage ${treeStage(counts)} of ${counts.jobs}, ${soFar(counts)} so far…`;
}

const treeEnds: Record<JobOutcome, string> = {
  SUCCEEDED: 'Tree complete',
  PARTIAL: 'Tree complete with failures',
  FAILED: 'Tree failed',
  CANCELLED: 'Tree cancelled',
};

type Counts = Pick<JobProgress, 'itemCount' | 'succeeded' | 'failed' | 'cancelled'>;

function soFar(counts: Counts): string {
  return `${numbers.format(itemProgress(counts))} of ${numbers.format(counts.itemCount)} items`;
}

/**
 * Grows with every change within a generation, since all counts only grow: it is their sum. So it needs no counter that a crash
 * could set back: folds do not wait for the disk, and Postgres may lose the last ones and count the same deltas again, in
 * different portions.
 */
export function stepsOf(progress: JobProgress): number {
  const steps = [progress.sealed, progress.startedAt !== null, progress.completedAt !== null];
  return progress.itemCount + itemProgress(progress) + steps.filter(Boolean).length;
}

/** The revision of a job or, with the sums over its jobs, of a tree. Of two such texts, the greater one is newer. */
export function toRevision(generation: number, steps: number): string {
  return `${generation.toString(16).padStart(8, '0')}-${steps.toString(16).padStart(14, '0')}`;
}

export function revision(progress: JobProgress): string {
  return toRevision(progress.generation, stepsOf(progress));
}

/**
 * Whether `next` supersedes `known`. A later generation does. Within a generation a complete state does, whatever the counts:
 * Postgres may count less than before if it was restored from a backup, or failed over to a standby that was behind.
 */
export function isNewer(next: JobProgress, known: JobProgress | undefined): boolean {
  if (known === undefined) return true;
  if (next.generation !== known.generation) return next.generation > known.generation;
  const ends = next.completedAt !== null;
  return ends === (known.completedAt !== null) ? stepsOf(next) > stepsOf(known) : ends;
}

/** Named explicitly: servers keep prepared statements, and a column that the next release adds would change what `*` returns. */
const columns = `p.job_id as "jobId", p.generation, p.item_count as "itemCount", p.succeeded, p.failed, p.cancelled, p.sealed,
             floor(extract(epoch from p.started_at) * 1000)::bigint as "startedAt", floor(extract(epoch from p.completed_at) * 1000)::bigint as "completedAt",
             p.outcome, j.cancel_reason as "cancelReason", p.completions`;

/** The counters of each job `j`. Only the highest version is visible, so the dead ones before it are never read. */
export const latestProgress = `cross join lateral (
             select * from jobtree.job_progress where job_id = j.id order by version desc limit 1
           ) p`;

/** The state of whole trees, in one query. A tree that does not exist is missing in the answer. */
export async function readTrees(database: Queries, rootIds: readonly string[]): Promise<TreeProgress[]> {
  const { rows } = await database.pool.query<JobProgress & { root_id: string; open_jobs: number }>({
    name: 'read_trees',
    text: `select ${columns}, j.root_id, p.open_jobs
           from jobtree.job j ${latestProgress}
           where j.root_id = any ($1) order by j.depth, j.id`,
    values: [rootIds],
  });
  const trees = new Map<string, { root: string; openJobs: number; jobs: JobProgress[] }>();
  for (const { root_id: root, open_jobs: openJobs, ...job } of rows) {
    // The root comes first.
    if (job.jobId === root) trees.set(root, { root, openJobs, jobs: [] });
    trees.get(root)?.jobs.push(job);
  }
  return [...trees.values()];
}

/** The sums over the jobs of these trees. A tree that does not exist is missing in the answer. */
export async function readTreeCounts(
  database: Queries,
  rootIds: readonly string[],
): Promise<Map<string, TreeCounts & { readonly outcome: JobOutcome | null }>> {
  const { rows } = await database.pool.query<
    TreeCounts & { readonly root_id: string; readonly outcome: JobOutcome | null }
  >({
    name: 'read_tree_counts',
    text: `select j.root_id, sum(p.generation)::bigint as generations,
             sum(p.item_count + p.succeeded + p.failed + p.cancelled + p.sealed::int + (p.started_at is not null)::int
               + (p.completed_at is not null)::int)::bigint as steps,
             max(p.open_jobs) filter (where j.id = j.root_id) as "openJobs", count(*) filter (where not p.sealed) as "unsealedJobs", count(*) as jobs,
             sum(p.item_count)::bigint as "itemCount", sum(p.succeeded)::bigint as succeeded, sum(p.failed)::bigint as failed,
             sum(p.cancelled)::bigint as cancelled, max(p.tree_outcome) filter (where j.id = j.root_id and p.open_jobs = 0) as outcome
           from jobtree.job j ${latestProgress}
           where j.root_id = any ($1)
           group by j.root_id`,
    values: [rootIds],
  });
  return new Map(rows.map(({ root_id: root, ...counts }) => [root, counts]));
}

/** The outcome of each of these trees; null for one that is not complete. A tree that does not exist is missing in the answer. */
export async function readTreeOutcomes(
  database: Queries,
  rootIds: readonly string[],
): Promise<Map<string, JobOutcome | null>> {
  const { rows } = await database.pool.query<{ id: string; outcome: JobOutcome | null }>({
    name: 'read_tree_outcomes',
    text: `select j.id, case when p.open_jobs = 0 then p.tree_outcome end as outcome
           from jobtree.job j ${latestProgress}
           where j.id = any ($1)`,
    values: [rootIds],
  });
  return new Map(rows.map(({ id, outcome }) => [id, outcome]));
}

/** The progress of these jobs, in any order. A job that does not exist is missing in the answer. */
export async function readProgress(database: Queries, jobIds: readonly string[]): Promise<JobProgress[]> {
  const { rows } = await database.pool.query<JobProgress>({
    name: 'read_progress',
    text: `select ${columns}
           from jobtree.job j ${latestProgress}
           where j.id = any ($1)`,
    values: [jobIds],
  });
  return rows;
}

/** The root of the tree of each job that exists. */
export async function readRoots(database: Queries, jobIds: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await database.pool.query<{ id: string; root_id: string }>({
    name: 'read_roots',
    text: 'select id, root_id from jobtree.job where id = any ($1)',
    values: [jobIds],
  });
  return new Map(rows.map((row) => [row.id, row.root_id]));
}
