import type { Engine } from '../engine/engine.ts';

export interface Fold {
  /** The highest delta that the fold read; 0 for none. */
  readonly lastDelta: number;
  /** Not everything could be done yet: fold again. */
  readonly retry: boolean;
  /** A transaction that adds items holds something up: fold again after a pause. */
  readonly heldUp: boolean;
  /** It left something to be finished; see `finish.ts`. */
  readonly unfinished: boolean;
}

/** Folds a tree's deltas from a given one on. Returns undefined if another fold has the tree. */
export async function foldProgress(
  engine: Pick<Engine, 'database'>,
  rootId: string,
  fromDelta: number,
): Promise<Fold | undefined> {
  return (await foldTrees(engine, [{ rootId, fromDelta }])).get(rootId);
}

/** Folds several trees in one transaction. A tree that another fold has is missing in the answer. */
export async function foldTrees(
  { database }: Pick<Engine, 'database'>,
  trees: readonly { readonly rootId: string; readonly fromDelta: number }[],
): Promise<Map<string, Fold>> {
  const rows = await database.call<FoldRow>(
    'fold_trees',
    trees.map(({ rootId }) => rootId),
    trees.map(({ fromDelta }) => fromDelta),
  );
  return new Map(
    rows.map(({ root_id, last_delta: lastDelta, retry, held_up: heldUp, unfinished }) => [
      root_id,
      { lastDelta, retry, heldUp, unfinished },
    ]),
  );
}

interface FoldRow {
  root_id: string;
  last_delta: number;
  retry: boolean;
  held_up: boolean;
  unfinished: boolean;
}
