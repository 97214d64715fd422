/** What the pending items of jobs wait for, and how fast others end. */
import type { Queries } from '../../db/database.ts';
import type { PendingStatus } from '../values/item-state.ts';

export interface PendingCounts extends Readonly<Record<Lowercase<PendingStatus>, number>> {
  /** Null before the job's first item is claimed, and once it is complete. */
  readonly perSecond: number | null;
}

/** For each job, in their order. */
export async function readPendingCounts(
  database: Queries,
  jobIds: readonly string[],
): Promise<PendingCounts[]> {
  const { rows } = await database.surveys.query<PendingCounts>({
    name: 'pending_counts',
    text: `select waiting, blocked, scheduled, retrying, ready, running, per_second as "perSecond" from jobtree.pending_counts($1)`,
    values: [jobIds],
  });
  return rows;
}
