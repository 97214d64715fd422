/** Live trees: what is subscribed, and how events become states. */
import {
  type JobFilter,
  NewestTrees,
  type NewestTreesSubscription,
  TreeChanges,
  type TreeChangesSubscription,
  type TreeRowFragment,
  type TreeStateFragment,
} from '../../generated/dashboard-first.ts';
import type { LiveSource } from './live.ts';

/** A tree without its jobs. */
export function treeOf(
  rootId: string,
): LiveSource<TreeChangesSubscription, { rootId: string; sinceRevision: string | null }, TreeStateFragment> {
  return {
    document: TreeChanges,
    variables: (known) => ({ rootId, sinceRevision: known?.revision ?? null }),
    next: (_, { jobTreeProgress }) => jobTreeProgress,
    isFinal: ({ complete }) => complete,
  };
}

/** Trees in the page of the newest, as in the subscription. */
const pageSize = 100;
/** However long a page is open. Those that left first are forgotten first. */
const mostGone = 10_000;

/** The newest trees by id. Those that left the page although it had room for them, or were deleted, are in `gone`. */
export interface NewestLive {
  readonly trees: ReadonlyMap<string, TreeRowFragment>;
  readonly gone: ReadonlySet<string>;
  /** The least id that may be in the page. */
  readonly oldest: string;
}

export function newestTreesOf(
  filter: JobFilter,
): LiveSource<NewestTreesSubscription, { filter: JobFilter }, NewestLive> {
  // The first event of a connection has the whole page: what was in it before may have left it meanwhile.
  let isFirst = true;
  return {
    document: NewestTrees,
    variables: () => {
      isFirst = true;
      return { filter };
    },
    next: (known, { jobs: { jobs, goneIds } }) => {
      const trees = new Map(isFirst ? [] : known?.trees);
      const gone = new Set(isFirst ? [...(known?.gone ?? []), ...(known?.trees.keys() ?? [])] : known?.gone);
      isFirst = false;
      for (const id of goneIds) {
        trees.delete(id);
        gone.add(id);
      }
      for (const tree of jobs) {
        trees.set(tree.id, tree);
        gone.delete(tree.id);
      }
      // Trees that were pushed out by newer ones meet the conditions as before.
      const oldest =
        trees.size < pageSize ? '' : [...trees.keys()].reduce((least, id) => (id < least ? id : least));
      for (const id of gone) if (id < oldest || gone.size > mostGone) gone.delete(id);
      return { trees, gone, oldest };
    },
  };
}
