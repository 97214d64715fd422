/** Reads figures: what all servers have saved, and what this one has not saved yet. */
import type { Queries } from '../../db/database.ts';
import { type Figures, Tally } from './figures.ts';

export interface FigureSource {
  readonly database: Queries;
  readonly figures: Figures;
}

/** The figures of one or more types in a span of time. */
export interface FigureSpan {
  readonly from: Date;
  readonly until: Date;
  readonly tally: Tally;
}

interface Row {
  /** Which set of names; null for the first row, which has the time bounds and is always present. */
  readonly part: number | null;
  readonly at: Date;
  readonly counts: readonly number[];
  readonly wait_buckets: readonly number[] | null;
  readonly wait_counts: readonly number[] | null;
  readonly took_buckets: readonly number[] | null;
  readonly took_counts: readonly number[] | null;
}

const minuteMs = 60_000;

/** One row for the bounds of the time, and one for each part and step that has figures: $1 to $5 are names, minutes, step, slots to leave out, and parts. */
const query = `with bounds as materialized (
    select t.now, case
      when $3::integer is null then date_trunc('minute', t.now) - $2::integer * interval '1 minute'
      else date_bin($3 * interval '1 minute', t.now - ($2 - $3) * interval '1 minute', 'epoch'::timestamptz)
    end as "from"
    from (select clock_timestamp()::timestamptz(3) as now) t
  ), found as materialized (
    select t.part, f.*, case when $3 is null then b."from" else date_bin($3 * interval '1 minute', f.minute, 'epoch'::timestamptz) end as at
    from bounds b
    cross join unnest($1::text[], $5::integer[]) t(type, part)
    cross join lateral (
      select f.* from jobtree.figure f
      where f.type = t.type and f.minute >= b."from" and f.slot_id <> all ($4::uuid[])
      offset 0
    ) f
  ), counted as (
    select f.part, f.at, array[sum(f.claimed), sum(f.succeeded), sum(f.failed), sum(f.lost), sum(f.dead)]::float8[] as counts
    from found f group by f.part, f.at
  ), waits as (
    select part, at, array_agg(bucket) as buckets, array_agg(count) as counts
    from (
      select f.part, f.at, u.bucket, sum(u.count)::float8 as count
      from found f cross join lateral unnest(f.wait_buckets, f.wait_counts) u(bucket, count)
      group by f.part, f.at, u.bucket
    ) w
    group by part, at
  ), tooks as (
    select part, at, array_agg(bucket) as buckets, array_agg(count) as counts
    from (
      select f.part, f.at, u.bucket, sum(u.count)::float8 as count
      from found f cross join lateral unnest(f.took_buckets, f.took_counts) u(bucket, count)
      group by f.part, f.at, u.bucket
    ) w
    group by part, at
  )
  select null as part, b."from" as at, array[extract(epoch from b.now) * 1000]::float8[] as counts,
    null as wait_buckets, null as wait_counts, null as took_buckets, null as took_counts
  from bounds b
  union all
  select c.part, c.at, c.counts, w.buckets, w.counts, t.buckets, t.counts
  from counted c left join waits w using (part, at) left join tooks t using (part, at)`;

/** Sums that together have more types than these are read one at a time. */
const fewTypes = 100;

/**
 * For each set of types, or of other names that are counted under (`sumOf`), their sum, in the order of the sets: the last `lastMinutes`, in steps
 * of `stepMinutes`, oldest first. Steps begin at multiples of their length; the last one ends now. Without a step, there is one span, which begins
 * with the whole minute that long ago. The cost is that of the rows, one for each name, minute and server.
 */
export async function readFigures(
  { database, figures }: FigureSource,
  sets: readonly (readonly string[])[],
  lastMinutes: number,
  stepMinutes?: number,
): Promise<FigureSpan[][]> {
  const unsaved = [...figures.unsaved];
  const parts = sets.map((names) => [...new Set(names)]);
  const isSurvey = parts.flat().length > fewTypes && parts.some(({ length }) => length > 1);
  const { rows } = await (isSurvey ? database.surveys : database.pool).query<Row>({
    name: 'read_figures',
    text: query,
    values: [
      parts.flat(),
      lastMinutes,
      stepMinutes ?? null,
      unsaved.map(({ id }) => id),
      parts.flatMap((names, part) => names.map(() => part)),
    ],
  });
  const bounds = rows.find(({ part }) => part === null);
  if (bounds === undefined) throw new Error('read_figures returned no bounds');
  const from = bounds.at.getTime();
  const now = bounds.counts[0] as number;
  const stepMs = stepMinutes === undefined ? now - from : stepMinutes * minuteMs;
  const spans = parts.map(() => emptySpans(from, now, stepMs));
  const spanAt = (part: number, at: number) => spans[part]?.[Math.floor((at - from) / stepMs)];

  for (const row of rows) {
    const tally = row.part === null ? undefined : spanAt(row.part, row.at.getTime())?.tally;
    if (tally === undefined) continue;
    const [claimed = 0, succeeded = 0, failed = 0, lost = 0, dead = 0] = row.counts;
    addCounts(tally, { claimed, succeeded, failed, lost, dead });
    for (const [i, bucket] of (row.wait_buckets ?? []).entries())
      tally.wait.addTo(bucket, row.wait_counts?.[i] ?? 0);
    for (const [i, bucket] of (row.took_buckets ?? []).entries())
      tally.took.addTo(bucket, row.took_counts?.[i] ?? 0);
  }
  for (const { minute, tallies, sums } of unsaved) {
    const at = minute?.getTime() ?? now - 1;
    for (const [part, names] of parts.entries()) {
      const tally = at < from ? undefined : spanAt(part, at)?.tally;
      if (tally === undefined) continue;
      for (const name of names) {
        const seen = tallies.get(name) ?? sums.get(name);
        if (seen === undefined) continue;
        addCounts(tally, seen);
        for (const [bucket, count] of seen.wait.buckets()) tally.wait.addTo(bucket, count);
        for (const [bucket, count] of seen.took.buckets()) tally.took.addTo(bucket, count);
      }
    }
  }
  return spans;
}

function emptySpans(from: number, now: number, stepMs: number): FigureSpan[] {
  const spans: FigureSpan[] = [];
  for (let at = from; at < now; at += stepMs) {
    spans.push({ from: new Date(at), until: new Date(Math.min(at + stepMs, now)), tally: new Tally() });
  }
  return spans;
}

type Counts = Pick<Tally, 'claimed' | 'succeeded' | 'failed' | 'lost' | 'dead'>;

function addCounts(tally: Tally, counts: Counts): void {
  tally.claimed += counts.claimed;
  tally.succeeded += counts.succeeded;
  tally.failed += counts.failed;
  tally.lost += counts.lost;
  tally.dead += counts.dead;
}
