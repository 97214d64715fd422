/** The items that workers hold, longest held first. */
import { type SlowSource, slowLimits } from '../figures/slow-items.ts';
import type { ItemKey } from '../values/ids.ts';

export interface HeldItem {
  readonly assignmentId: string;
  readonly item: ItemKey;
  readonly type: string;
  readonly worker: string;
  readonly attempt: number;
  readonly claimedAt: Date;
  readonly heartbeatAt: Date;
  readonly heldMs: number;
}

interface Row extends Omit<HeldItem, 'item'> {
  readonly jobId: string;
  readonly position: number;
}

export interface HeldFilter {
  readonly types: readonly string[] | null;
  readonly workers: readonly string[] | null;
  readonly slowOnly: boolean;
  /** Only items after this place. */
  readonly after?: { readonly claimedAt: Date; readonly item: ItemKey } | null;
}

export async function readHeldItems(
  source: SlowSource,
  { types, workers, slowOnly, after = null }: HeldFilter,
  take: number,
): Promise<HeldItem[]> {
  const limits = slowOnly ? await slowLimits(source, types) : undefined;
  const { rows } = await source.database.pool.query<Row>({
    name: `read_held_items/${after !== null}`,
    text: `select jobtree.assignment_id(l.id, n) as "assignmentId", l.job_id as "jobId", l.position + n - 1 as position, l.type,
             l.worker, l.attempt, l.claimed_at as "claimedAt", coalesce(l.deadlines[n] - l.patience, l.heartbeat_at) as "heartbeatAt",
             greatest(extract(epoch from clock_timestamp() - l.claimed_at) * 1000, 0)::bigint as "heldMs"
           from (
             select l.*, j.type, 3 * j.heartbeat_interval_ms * interval '1 ms' as patience
             from jobtree.lease l
             join jobtree.job j on j.id = l.job_id and j.cancelled_at is null
             left join unnest($3::text[], $4::float8[]) s(type, ms) on s.type = j.type
             where l.check_at is not null and ($1::text[] is null or j.type = any ($1))
               and ($2::text[] is null or l.worker = any ($2))
               and ($3 is null or l.claimed_at <= clock_timestamp() - s.ms * interval '1 ms')
               ${after === null ? '' : 'and (l.claimed_at, l.job_id, l.position + l.count - 1) > ($6::timestamptz, $7::uuid, $8::bigint)'}
             order by l.claimed_at, l.job_id, l.position
             -- Of the first one, the rest may have ended.
             limit $5::int + 1
           ) l
           cross join lateral generate_series(1, l.count) n
           where get_bit(l.open, n - 1) = 1
             ${after === null ? '' : 'and (l.claimed_at, l.job_id, l.position + n - 1) > ($6::timestamptz, $7::uuid, $8::bigint)'}
           order by l.claimed_at, l.job_id, l.position + n
           limit $5`,
    values: [
      types,
      workers,
      limits && [...limits.keys()],
      limits && [...limits.values()],
      take,
      ...(after === null ? [] : [after.claimedAt, after.item.jobId, after.item.position]),
    ],
  });
  return rows.map(({ jobId, position, ...held }) => ({ ...held, item: { jobId, position } }));
}
