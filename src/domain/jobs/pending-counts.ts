/** What the pending items of jobs wait for, and how fast others end. */
import type { Queries } from '../../db/database.ts';
import type { Survey } from '../../db/surveys.ts';
import type { PendingStatus } from '../items/item-state.ts';

export interface PendingCounts extends Readonly<Record<Lowercase<PendingStatus>, number>> {
  /** Null before the job's first item is claimed, and once it is complete. */
  readonly perSecond: number | null;
}

interface CountsRow extends Omit<PendingCounts, 'perSecond'> {
  readonly pace: readonly number[];
  /** Null before the job's first item is claimed, and once it is complete. */
  readonly started_at: Date | null;
  readonly now: Date;
}

/** The cost does not depend on how many items are finished. */
const pendingCounts: Survey = {
  name: 'pending_counts',
  without: ['seqscan'],
  text: `select coalesce(e.waiting, 0) as waiting, b.blocked, coalesce(e.scheduled, 0) as scheduled, coalesce(e.retrying, 0) as retrying,
      coalesce(e.ready, 0) as ready, coalesce(l.running, 0) as running, p.pace, p.started_at, clock_timestamp() as now
    from unnest($1::uuid[]) with ordinality u(job_id, n)
    cross join lateral (
      select sum(s.items) filter (where s.status = 'WAITING')::bigint as waiting, sum(s.items) filter (where s.status = 'SCHEDULED')::bigint as scheduled,
        sum(s.items) filter (where s.status = 'RETRYING')::bigint as retrying, sum(s.items) filter (where s.status = 'READY')::bigint as ready
      from (
        select jobtree.status_of_item(null, null, false, false, q.run_at, q.attempt) as status, sum(q.count) as items
        from jobtree.queue_entry q
        where q.job_id = u.job_id
        group by 1
      ) s
    ) e
    cross join lateral (select count(*) as blocked from jobtree.blocked_item i where i.job_id = u.job_id) b
    cross join lateral (
      select sum(bit_count(h.open))::bigint as running from jobtree.lease h
      where h.job_id = u.job_id and coalesce(h.check_at, 'infinity') < 'infinity'
    ) l
    left join lateral (
      select case when c.completed_at is null then c.started_at end as started_at, c.pace
      from jobtree.job_progress c where c.job_id = u.job_id order by c.version desc limit 1
    ) p on true
    order by u.n`,
};

/** For each job, in their order. */
export async function readPendingCounts(
  database: Queries,
  jobIds: readonly string[],
): Promise<PendingCounts[]> {
  const { rows } = await database.surveys.query<CountsRow>({
    ...pendingCounts,
    values: [jobIds],
  });
  return rows.map(({ pace, started_at, now, ...counts }) => ({
    ...counts,
    perSecond: started_at === null ? null : perSecond(pace, started_at, now),
  }));
}

/** Null if nothing says how long the rest may take: none has ended lately, or nothing moves. */
export function secondsLeft(pending: PendingCounts): number | null {
  const { perSecond, waiting, blocked, scheduled, retrying, ready, running } = pending;
  if (!perSecond || ready + running === 0) return null;
  return (waiting + blocked + scheduled + retrying + ready + running) / perSecond;
}

const sliceMs = 10_000;

/**
 * How many items of a job end in a second: on the average of the last 50 to 60 seconds, or since its first item was claimed. `pace` is as
 * next_pace makes it: the number of a slice of ten seconds, and how many items ended in it and in those before it.
 */
export function perSecond([latest = 0, ...counts]: readonly number[], startedAt: Date, now: Date): number {
  const slice = Math.floor(now.getTime() / sliceMs);
  const ended = counts.reduce((sum, count, i) => (latest - i > slice - 6 ? sum + count : sum), 0);
  const ms = Math.min(5 * sliceMs + (now.getTime() % sliceMs), now.getTime() - startedAt.getTime());
  return ended / Math.max(1, ms / 1_000);
}
