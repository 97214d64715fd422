/** All trees, newest first: their bars move as their items end. */
import { Link, useSearch } from '@tanstack/react-router';
import { Suspense, useEffect, useMemo } from 'react';
import { type TreeRowFragment, type TreeStateFragment, Trees } from '../../generated/dashboard-first.ts';
import { useAsComplete, useCompleteTrees } from '../data/complete-trees.ts';
import { askAgain, useLive } from '../data/live.ts';
import { type NewestLive, newestTreesOf, treeOf } from '../data/live-trees.ts';
import { toFilter } from '../data/tree-search.ts';
import { lazily } from '../lazily.ts';
import { Answer, Problem } from '../parts/ask.tsx';
import { More, nodesOf, type Pages, usePages } from '../parts/pages.tsx';
import { ProgressBar, State } from '../parts/progress.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useTexts } from '../texts/texts.ts';

/** Of a longer list nobody wants to wait for all pages again. */
const mostReadAgain = 500;
const gapMs = 2_000;

/** Not in the first view: the list comes first. */
const TreeFilters = lazily(() => import('../parts/tree-filters.tsx'));
const TreeRate = lazily(() => import('../parts/tree-rate.tsx'));

export function TreesScreen() {
  const t = useTexts();
  const search = useSearch({ from: '/' });
  const { order = 'NEWEST_FIRST' } = search;
  const isAll = Object.values(search).every((one) => one === undefined);
  const filter = toFilter(search);
  const pages = usePages(Trees, { filter, order }, (data) => data.jobs);
  const isNewest = order === 'NEWEST_FIRST';
  const live = useLive(isNewest ? `trees ${JSON.stringify(filter)}` : undefined, newestTreesOf(filter));
  const found = nodesOf(pages);
  const rows = useMemo(() => merge(found, live.value, isNewest), [found, live.value, isNewest]);
  useNoGap(pages, isNewest ? live.value : undefined);
  // Until then, it may yet be told of any.
  const complete = useCompleteTrees();
  const isTold = (id: string) => isNewest && live.value?.trees.has(id) !== false;
  const columns: readonly Column<TreeRowFragment>[] = [
    {
      title: t.trees.type,
      grow: 2,
      cell: (tree) => (
        <>
          <Link to="/trees/$id" params={{ id: tree.id }}>
            {tree.type}
            {tree.dedupeKey != null && <span className="quiet"> {tree.dedupeKey}</span>}
          </Link>
          {/* All roots have the same end. */}
          {tree.dedupeKey == null && <span className="quiet"> {tree.id.slice(-12, -6)}</span>}
        </>
      ),
    },
    {
      title: t.trees.progress,
      grow: 4,
      cell: (tree) => <TreeBar tree={tree} isTold={isTold(tree.id)} since={complete.get(tree.id)} />,
    },
    { title: t.trees.created, isTime: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  ];
  return (
    <>
      <h1>{t.trees.title}</h1>
      <Suspense fallback={<div className="tree-filters" />}>
        <TreeFilters />
      </Suspense>
      {/* What refuses the one mostly refuses the other. */}
      {live.error !== undefined && pages.error === null && <Problem error={live.error} onRetry={askAgain} />}
      <Answer query={pages}>
        {() => (
          <Table
            label={t.trees.title}
            rows={rows}
            columns={columns}
            keyOf={({ id }) => id}
            empty={pages.hasNextPage ? t.trees.searched : isAll ? t.trees.first : t.trees.empty}
            more={<More pages={pages} />}
          />
        )}
      </Answer>
    </>
  );
}

/** Reads the pages again when so many new trees came that those between the live page and the others are in neither. */
function useNoGap(pages: Pages<TreeRowFragment>, live: NewestLive | undefined): void {
  const { refetch, dataUpdatedAt } = pages;
  const found = nodesOf(pages);
  const isApart = live !== undefined && found[0] !== undefined && found[0].id < live.oldest;
  const isShort = found.length <= mostReadAgain;
  // After each time of reading, it may be apart again.
  useEffect(() => {
    if (!isApart || !isShort) return;
    const timer = setTimeout(() => void refetch(), gapMs);
    return () => clearTimeout(timer);
  }, [isApart, isShort, dataUpdatedAt, refetch]);
}

/** The pages that were fetched, with what the server has told since. Ids of jobs grow with time. */
function merge(
  found: readonly TreeRowFragment[],
  live: NewestLive | undefined,
  isNewest: boolean,
): readonly TreeRowFragment[] {
  if (!isNewest || live === undefined) return found;
  // Only the beginning of a long list can differ.
  const first = found.findIndex(({ id }) => id < live.oldest);
  const older = first === -1 ? [] : found.slice(first);
  const others = found
    .slice(0, found.length - older.length)
    .filter(({ id }) => !live.trees.has(id) && !live.gone.has(id));
  const newer = [...live.trees.values(), ...others].sort((a, b) => (a.id < b.id ? 1 : -1));
  return [...newer, ...older];
}

/** `isTold`: whether the list itself is told of its changes. `since`: what became of it after it was complete. */
function TreeBar(props: { tree: TreeRowFragment; isTold: boolean; since: TreeStateFragment | undefined }) {
  const { tree, isTold, since } = props;
  const t = useTexts();
  // A row of an older page is on the screen only as long as it is in the table, and is subscribed as long.
  const isSubscribed = !isTold && tree.treeProgress?.complete === false;
  const { value } = useLive(isSubscribed ? `tree ${tree.id}` : undefined, treeOf(tree.id));
  const known = value ?? tree.treeProgress;
  useAsComplete(!isTold && known?.complete === true ? tree.id : undefined);
  const counts = since !== undefined && known != null && since.revision > known.revision ? since : known;
  if (counts == null) return null;
  const state = stateOf(tree, counts);
  const isOpen = counts.unsealedJobs > 0;
  return (
    <div className="tree-bar">
      <State state={state} />
      <ProgressBar counts={counts} isOpen={isOpen} label={t.trees.progress}>
        {state === 'RUNNING' && (
          <Suspense>
            <TreeRate
              done={counts.itemProgress}
              left={isOpen ? undefined : counts.itemCount - counts.itemProgress}
            />
          </Suspense>
        )}
      </ProgressBar>
    </div>
  );
}

function stateOf(
  tree: Pick<TreeRowFragment, 'deletion' | 'idleSince'>,
  counts: { complete: boolean; outcome?: string | null; itemProgress: number },
): string {
  if (tree.deletion != null) return 'DELETING';
  if (counts.complete) return counts.outcome ?? 'COMPLETED';
  if (tree.idleSince != null) return 'IDLE';
  return counts.itemProgress > 0 ? 'RUNNING' : 'WAITING';
}
