/** All trees, newest first: their bars move as their items end. */
import { Link, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useMemo } from 'react';
import { type TreeRowFragment, Trees } from '../../generated/dashboard-first.ts';
import { useLive } from '../data/live.ts';
import { newestTreesOf, treeOf } from '../data/live-trees.ts';
import { toFilter } from '../data/tree-search.ts';
import { Problem } from '../parts/ask.tsx';
import { More, nodesOf, usePages } from '../parts/pages.tsx';
import { ProgressBar, State } from '../parts/progress.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useTexts } from '../texts/texts.ts';

/** Not in the first view: the list comes first. */
const TreeFilters = lazy(() => import('../parts/tree-filters.tsx'));

interface Row {
  readonly tree: TreeRowFragment;
  /** Whether the list itself is told of its changes. */
  readonly isTold: boolean;
}

export function TreesScreen() {
  const t = useTexts();
  const search = useSearch({ from: '/' });
  const { order = 'NEWEST_FIRST' } = search;
  const filter = toFilter(search);
  const pages = usePages(Trees, { filter, order }, (data) => data.jobs);
  const isNewest = order === 'NEWEST_FIRST';
  const live = useLive(isNewest ? `trees ${JSON.stringify(filter)}` : undefined, newestTreesOf(filter));
  const found = nodesOf(pages);
  const rows = useMemo(() => merge(found, live.value, isNewest), [found, live.value, isNewest]);
  const error = live.error ?? pages.error;
  const columns: readonly Column<Row>[] = [
    {
      title: t.trees.type,
      grow: 2,
      cell: ({ tree }) => (
        <Link to="/trees/$id" params={{ id: tree.id }}>
          {tree.type}
          {tree.dedupeKey != null && <span className="quiet"> {tree.dedupeKey}</span>}
        </Link>
      ),
    },
    {
      title: t.trees.progress,
      grow: 4,
      cell: (row) => <TreeBar {...row} />,
    },
    { title: t.trees.created, cell: ({ tree }) => <Time at={tree.createdAt} /> },
  ];
  return (
    <>
      <h1>{t.trees.title}</h1>
      <Suspense fallback={<div className="tree-filters" />}>
        <TreeFilters />
      </Suspense>
      {error !== null && error !== undefined ? (
        <Problem error={error} onRetry={() => void pages.refetch()} />
      ) : pages.isPending ? (
        <p className="quiet">{t.loading}</p>
      ) : (
        <Table
          label={t.trees.title}
          rows={rows}
          columns={columns}
          keyOf={({ tree }) => tree.id}
          empty={
            pages.hasNextPage
              ? t.trees.searched
              : Object.values(search).every((one) => one === undefined)
                ? t.trees.first
                : t.trees.empty
          }
          more={<More pages={pages} />}
        />
      )}
    </>
  );
}

/** The pages that were fetched, with what the server has told since. Ids of jobs grow with time. */
function merge(
  found: readonly TreeRowFragment[],
  live: { trees: ReadonlyMap<string, TreeRowFragment>; gone: ReadonlySet<string> } | undefined,
  isNewest: boolean,
): readonly Row[] {
  if (!isNewest || live === undefined) return found.map((tree) => ({ tree, isTold: false }));
  const told = [...live.trees.values()].map((tree) => ({ tree, isTold: true }));
  const oldest = told.reduce((least, { tree }) => (tree.id < least ? tree.id : least), '~');
  // A tree that left the page of the newest may only have been pushed out by newer ones; if it lies within, it no longer meets the conditions.
  const older = found.filter(({ id }) => !live.trees.has(id) && !(live.gone.has(id) && id > oldest));
  const rows = [...told, ...older.map((tree) => ({ tree, isTold: false }))];
  return rows.toSorted((a, b) => (a.tree.id < b.tree.id ? 1 : -1));
}

function TreeBar({ tree, isTold }: Row) {
  const t = useTexts();
  // A row of an older page is on the screen only as long as it is in the table, and is subscribed as long.
  const isSubscribed = !isTold && tree.treeProgress?.complete === false;
  const { value } = useLive(isSubscribed ? `tree ${tree.id}` : undefined, treeOf(tree.id));
  const counts = value ?? tree.treeProgress;
  if (counts == null) return null;
  const state = stateOf(tree, counts);
  return (
    <div className="tree-bar">
      <State state={state} />
      <ProgressBar counts={counts} isOpen={counts.unsealedJobs > 0} label={t.trees.progress} />
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
