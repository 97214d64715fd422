/** What stands of a job apart from its items: whether more come, and what it waits for. */
import type { Queries } from '../../db/database.ts';
import type { CancelReason, JobOutcome } from '../items/item-state.ts';
import { latestProgress } from '../progress/progress.ts';

export interface JobStanding {
  readonly id: string;
  readonly rootId: string;
  readonly parentId: string | null;
  readonly type: string;
  readonly sealedAt: Date | null;
  readonly cancelledAt: Date | null;
  readonly cancelReason: CancelReason | null;
  readonly isFed: boolean;
  /** Whether it still waits for the jobs of `afterIds`. */
  readonly waits: boolean;
  readonly afterIds: readonly string[];
  readonly completedAt: Date | null;
  readonly outcome: JobOutcome | null;
  /** When anything of it was last counted. */
  readonly changedAt: Date;
  /** Whether its file is not read to its end. */
  readonly isImporting: boolean;
  /** Since when the file's object store has been unavailable. */
  readonly storeAwayAt: Date | null;
}

/** These jobs, or all jobs of these trees, the roots first. */
export async function readJobStandings(
  database: Queries,
  { ids, rootIds }: { ids: readonly string[]; rootIds?: never } | { ids?: never; rootIds: readonly string[] },
): Promise<JobStanding[]> {
  const { rows } = await database.pool.query<JobStanding>({
    name: `read_job_standings/${ids === undefined ? 'trees' : 'jobs'}`,
    text: `select j.id, j.root_id as "rootId", j.parent_id as "parentId", j.type, j.sealed_at as "sealedAt", j.cancelled_at as "cancelledAt",
             j.cancel_reason as "cancelReason", j.feed is not null as "isFed", j.waits, j.after_ids as "afterIds",
             p.completed_at as "completedAt", p.outcome, p.changed_at as "changedAt",
             f.created_at is not null as "isImporting", f.store_away_at as "storeAwayAt"
           from jobtree.job j
           ${latestProgress}
           left join lateral (
             select created_at, store_away_at from jobtree.file_import where job_id = j.id and finished_at is null limit 1
           ) f on true
           where ${ids === undefined ? 'j.root_id' : 'j.id'} = any ($1)
           order by j.depth, j.id`,
    values: [ids ?? rootIds],
  });
  return rows;
}
