import { countTypes, type Engine } from './engine.ts';

/** Where a sweep goes on from; null where it looks at everything. */
export interface SweepMarks {
  /** No unfinished hold has an older deadline. */
  readonly deadlineFrom: Date | null;
  /** Deltas up to this one were seen before. */
  readonly deltaSeen: number | null;
}

export interface Sweep {
  readonly lost: number;
  readonly promoted: number;
  /** Jobs that are cancelled and may have pending items. */
  readonly cancelling: readonly string[];
  readonly next: SweepMarks;
  /** A batch was full: there is more to do at once. */
  readonly more: boolean;
}

const batch = 1_000;
const everything: SweepMarks = { deadlineFrom: null, deltaSeen: null };

/** One batch of what time brings about: lost heartbeats, due items, and what a dead server left behind. */
export async function sweep(engine: Engine, marks: SweepMarks = everything): Promise<Sweep> {
  const [row] = await engine.database.call<{
    lost: number;
    promoted: number;
    ready_types: string[] | null;
    root_ids: string[] | null;
    cancelling: string[] | null;
    deadline_from: Date;
    delta_seen: number | null;
  }>('sweep', marks.deadlineFrom, marks.deltaSeen, batch);
  if (row === undefined) throw new Error('sweep returned no row');
  for (const rootId of row.root_ids ?? []) engine.effects.touched(rootId, true);
  const ready = countTypes(row.ready_types ?? []);
  if (ready.size > 0) engine.effects.ready(ready);
  return {
    lost: row.lost,
    promoted: row.promoted,
    cancelling: row.cancelling ?? [],
    next: { deadlineFrom: row.deadline_from, deltaSeen: row.delta_seen },
    more: row.lost === batch || row.promoted === batch,
  };
}
