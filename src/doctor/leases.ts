/** What workers hold, and whether they show that they are alive. */
import { counted } from '../domain/values/counted.ts';
import { type Judgement, ok, sick, warning } from './finding.ts';
import type { Session } from './session.ts';
import { advise, atLeast, graceMs, mostCounted, type Watch } from './work.ts';

/** Of the open items of a lease `l`, whose job is `j`. */
const earliestDeadline = `select coalesce(
             (select min(l.deadlines[n]) from generate_series(1, l.count) n where get_bit(l.open, n - 1) = 1),
             l.heartbeat_at + 3 * j.heartbeat_interval_ms * interval '1 millisecond'
           ) as deadline_at`;

export async function checkLeases(session: Session, watch: Watch): Promise<Judgement[]> {
  const [row] = await session.query<{ leases: number; items: number; since: Date | null; workers: string[] }>(
    `select count(*)::int as leases, coalesce(sum(o.items), 0)::int as items, min(o.deadline_at) as since,
       coalesce((array_agg(distinct o.worker))[:5], '{}') as workers
     from (
       select d.deadline_at, l.worker, bit_count(l.open) as items
       from jobtree.lease l
       cross join lateral (
         select j.heartbeat_interval_ms from jobtree.job j where j.id = l.job_id and j.cancelled_at is null offset 0
       ) j
       cross join lateral (${earliestDeadline}) d
       where l.check_at < now() - $1 * interval '1 millisecond' and d.deadline_at < now() - $1 * interval '1 millisecond'
         and (not $2 or $3::timestamptz + 3 * j.heartbeat_interval_ms * interval '1 millisecond' < now() - $1 * interval '1 millisecond')
       order by l.check_at limit ${mostCounted + 1}
     ) o`,
    [watch.isWatched ? graceMs : 0, watch.isWatched, watch.resumedAt],
  );
  if (row === undefined || row.leases === 0) return [ok('none is past its deadline')];
  return [
    sick(
      `Past their deadline, and not taken back: ${atLeast(row.leases, 'lease')} with ${counted(row.items, 'item')} (workers: ${row.workers.join(', ')}).`,
      advise(watch),
      row.since,
    ),
  ];
}

/** Workers that miss a heartbeat: with three, they lose what they hold. While no server runs, none can arrive. */
export async function checkHeartbeats(session: Session, watch: Watch): Promise<Judgement[]> {
  if (!watch.isWatched) return [];
  const [row] = await session.query<{ leases: number; since: Date | null; workers: string[] }>(
    `select count(*)::int as leases, min(s.since) as since, coalesce((array_agg(distinct s.worker))[:5], '{}') as workers
     from (
       select l.worker, d.deadline_at - 3 * j.heartbeat_interval_ms * interval '1 millisecond' as since
       from (select * from jobtree.lease l where l.check_at > now() order by l.check_at limit 10000) l
       cross join lateral (
         select j.heartbeat_interval_ms from jobtree.job j where j.id = l.job_id and j.cancelled_at is null offset 0
       ) j
       cross join lateral (${earliestDeadline}) d
       where d.deadline_at < now() + 1.5 * j.heartbeat_interval_ms * interval '1 millisecond'
         and $1::timestamptz + 1.5 * j.heartbeat_interval_ms * interval '1 millisecond' < now()
       limit ${mostCounted + 1}
     ) s`,
    [watch.resumedAt],
  );
  if (row === undefined || row.leases === 0) return [ok('no worker has missed one')];
  return [
    warning(
      `The workers of ${atLeast(row.leases, 'lease')} have missed a heartbeat or two: ${row.workers.join(', ')}.`,
      'After three, the items go to others. Check whether these workers are alive, blocked, or without a network.',
      row.since,
    ),
  ];
}
