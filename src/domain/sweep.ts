/** What time brings about, and what a dead server left behind: each part a call of its own, so that each fails alone. */
import type { Engine } from './engine.ts';
import type { FailedItems } from './failure-log.ts';
import type { ReportFigure } from './figures.ts';

const batch = 1_000;

type Ready = Record<string, number> | null;

/** Since when servers have been looking for lost heartbeats without a gap. */
export async function noteSweep(engine: Engine, gapMs: number): Promise<Date> {
  const [row] = await engine.database.call<{ note_sweep: Date }>('note_sweep', gapMs);
  if (row === undefined) throw new Error('note_sweep returned no row');
  return row.note_sweep;
}

/** Takes back what workers have fallen silent over within a time (an ISO 8601 duration); how many items, and whether there is more. */
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
    figures: ReportFigure[] | null;
    failed: FailedItems[] | null;
  }>('sweep_leases', resumedAt, batch, within);
  if (row === undefined) throw new Error('sweep_leases returned no row');
  for (const rootId of row.root_ids ?? []) engine.effects.touched(rootId);
  announce(engine, row.ready);
  engine.figures.ended(row.figures, true);
  engine.failureLog.note(row.failed);
  return { lost: row.lost, more: row.leases === batch };
}

/** Makes entries ready that have come due within a time (an ISO 8601 duration); whether there are more. */
export async function promoteDue(engine: Engine, within: string | null = null): Promise<boolean> {
  const [row] = await engine.database.call<{ promoted: number; ready: Ready }>('promote_due', batch, within);
  if (row === undefined) throw new Error('promote_due returned no row');
  announce(engine, row.ready);
  return row.promoted === batch;
}

/** Lets serialize keys go on whose heads have ended, and that could not go on at once; whether there are more. */
export async function promoteBlocked(engine: Engine): Promise<boolean> {
  const [row] = await engine.database.call<{ promoted: number; ready: Ready }>('promote_blocked', batch);
  if (row === undefined) throw new Error('promote_blocked returned no row');
  announce(engine, row.ready);
  return row.promoted === batch;
}

/** Where a look for unfolded deltas goes on from. */
export interface DeltaMarks {
  /** None is older, as far as it is known. */
  readonly from: number;
  /** Up to this one they were seen before; null for a first look. */
  readonly seen: number | null;
}

/** Has those trees folded whose deltas nobody folds. */
export async function findUnfolded(engine: Engine, { from, seen }: DeltaMarks): Promise<DeltaMarks> {
  const [row] = await engine.database.call<{
    root_ids: string[] | null;
    ready: Ready;
    first_delta: number | null;
    last_delta: number | null;
  }>('unfolded_trees', from, seen, batch);
  if (row === undefined) throw new Error('unfolded_trees returned no row');
  for (const rootId of row.root_ids ?? []) engine.effects.touched(rootId, true);
  announce(engine, row.ready);
  return { from: row.first_delta ?? seen ?? from, seen: row.last_delta ?? seen ?? from };
}

function announce(engine: Engine, ready: Ready): void {
  if (ready !== null) engine.effects.ready(new Map(Object.entries(ready)));
}
