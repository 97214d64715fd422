/** What becomes due with time, and what a dead server left behind: each part is a separate call, so that one can fail without the others. */
import { type Statement, unflushed } from '../../db/database.ts';
import type { Engine } from '../engine/engine.ts';
import type { FailedItems } from '../engine/failure-log.ts';
import type { ReportFigure } from '../figures/figures.ts';

const batchSize = 1_000;
const treesAtOnce = 5_000;

type Ready = Record<string, number> | null;

const resumed = `case when w.swept_at < clock_timestamp() - $1 * interval '1 millisecond' then clock_timestamp() else w.resumed_at end`;

/**
 * Records that a server is looking for lost heartbeats. After a gap in which none did (all were down, or Postgres was away) no heartbeat can
 * have arrived either: from its end on, every lease has a full lease time before it may be taken back. Skips the row if another server has locked
 * it, which may be about to record the same gap.
 */
const recordLook: Statement = {
  name: 'note_sweep',
  first: `noted as (
    update jobtree.watch w
    set swept_at = clock_timestamp(),
      resumed_at = ${resumed}
    where w.ctid = (select f.ctid from jobtree.watch f where f.id = 1 for update skip locked) and ${unflushed}
    returning w.resumed_at
  )`,
  text: `select coalesce(n.resumed_at, ${resumed}) as resumed_at from jobtree.watch w left join noted n on true where w.id = 1`,
};

/** Since when servers have been checking for lost heartbeats without a gap. */
export async function recordSweep(engine: Engine, gapMs: number): Promise<Date> {
  const [row] = await engine.database.call<{ resumed_at: Date }>(recordLook, gapMs);
  if (row === undefined) throw new Error('note_sweep returned no row');
  return row.resumed_at;
}

/** Takes back the items of workers that fell silent within a period (an ISO 8601 duration). Returns how many, and whether there are more. */
export async function sweepLeases(
  engine: Engine,
  resumedAt: Date,
  within: string | null = null,
): Promise<{ lost: number; more: boolean }> {
  const [row] = await engine.database.call<{
    lost: number;
    leases: number;
    root_ids: string[] | null;
    ready: Ready;
    given_back: [type: string, priority: number, place: number, items: number][] | null;
    figures: ReportFigure[] | null;
    failed: FailedItems[] | null;
  }>('sweep_leases', resumedAt, batchSize, within);
  if (row === undefined) throw new Error('sweep_leases returned no row');
  for (const rootId of row.root_ids ?? []) engine.effects.touched(rootId);
  announce(engine, row.ready);
  for (const [type, priority, place, items] of row.given_back ?? []) {
    engine.lowWater.goBack({ type, priority, place });
    engine.effects.ready(new Map([[type, items]]));
  }
  engine.figures.ended(row.figures, true);
  engine.failureLog.note(row.failed);
  return { lost: row.lost, more: row.leases === batchSize };
}

/**
 * Makes entries ready that became due within a period (an ISO 8601 duration). Returns whether there are more, and after which type the next call
 * goes on.
 */
export async function promoteDue(
  engine: Engine,
  within: string | null = null,
  after = '',
): Promise<{ more: boolean; after: string }> {
  const [row] = await engine.database.call<{ ready: Ready; more: boolean; last_type: string }>(
    'promote_due',
    batchSize,
    within,
    after,
  );
  if (row === undefined) throw new Error('promote_due returned no row');
  announce(engine, row.ready);
  return { more: row.more, after: row.last_type };
}

/** Goes through all serialize keys whose heads have ended, and passes on those with which this was not possible at once. */
export async function promoteBlocked(engine: Engine, signal?: AbortSignal): Promise<void> {
  let from: string | null = '';
  while (from !== null && signal?.aborted !== true) {
    const [row]: { next_from: string | null; ready: Ready }[] = await engine.database.call(
      'promote_blocked',
      from,
      batchSize,
    );
    if (row === undefined) throw new Error('promote_blocked returned no row');
    announce(engine, row.ready);
    from = row.next_from;
  }
}

/** Where the search for unfolded deltas continues. */
export interface DeltaMarks {
  /** As far as is known, there is no older one. */
  readonly from: number;
  /** The newest one at the previous search; null for the first search. */
  readonly seen: number | null;
}

/** Finds trees with deltas that nobody folds, and has them folded: thousands at a time, since a server remembers each until it is folded. */
export async function findUnfolded(engine: Engine, { from, seen }: DeltaMarks): Promise<DeltaMarks> {
  let marks: DeltaMarks | undefined;
  let next = from;
  for (let trees = 0; trees < treesAtOnce; ) {
    const [row] = await engine.database.call<{
      root_ids: string[] | null;
      ready: Ready;
      first_delta: number | null;
      last_delta: number | null;
      deltas: number;
      newest: number | null;
    }>('unfolded_trees', next, seen, batchSize);
    if (row === undefined) throw new Error('unfolded_trees returned no row');
    marks ??= { from: row.first_delta ?? seen ?? from, seen: row.newest ?? seen ?? from };
    const roots = row.root_ids ?? [];
    for (const rootId of roots) engine.effects.touched(rootId, true);
    announce(engine, row.ready);
    // Beyond what was seen before, other servers are still folding.
    if (row.deltas < batchSize || roots.length === 0) break;
    trees += roots.length;
    next = (row.last_delta ?? next) + 1;
  }
  return marks as DeltaMarks;
}

function announce(engine: Engine, ready: Ready): void {
  if (ready !== null) engine.effects.ready(new Map(Object.entries(ready)));
}
