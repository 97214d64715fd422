import { countTypes, type Engine } from './engine.ts';

export interface Sweep {
  readonly lost: number;
  readonly promoted: number;
  /** The mark for the next sweep. */
  readonly deadlineFrom: Date | null;
  /** A batch was full: there is more to do at once. */
  readonly more: boolean;
}

const batch = 1_000;

/** One batch of what time brings about: lost heartbeats, due items, folds that a dead server left behind. */
export async function sweep(engine: Engine, deadlineFrom: Date | null): Promise<Sweep> {
  const [row] = await engine.database.call<{
    lost: number;
    promoted: number;
    ready_types: string[] | null;
    root_ids: string[] | null;
    deadline_from: Date | null;
  }>('sweep', deadlineFrom, batch);
  if (row === undefined) throw new Error('sweep returned no row');
  for (const rootId of row.root_ids ?? []) engine.effects.touched(rootId, true);
  const ready = countTypes(row.ready_types ?? []);
  if (ready.size > 0) engine.effects.ready(ready);
  return {
    lost: row.lost,
    promoted: row.promoted,
    deadlineFrom: row.deadline_from,
    more: row.lost === batch || row.promoted === batch,
  };
}
