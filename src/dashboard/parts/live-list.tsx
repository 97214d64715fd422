/** Lists whose first page is live; what comes after it is read when it is asked for. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { type ReactNode, useId, useMemo, useRef } from 'react';
import { useFollowing } from '../data/follow.ts';
import { askAgain, type Live } from '../data/live.ts';
import { useTexts } from '../texts/all.ts';
import { isMissing, Problem, ProblemOf } from './ask.tsx';
import { More } from './pages.tsx';

/** What a screen shows of a live answer: where there is none yet, that it is on its way, or why not. */
export function LiveAnswer<T>(props: {
  live: Live<T>;
  /** Instead of what the server says of an id that leads to nothing. */
  missing?: ReactNode;
  children: (value: T) => ReactNode;
}) {
  const { live, missing, children } = props;
  const t = useTexts();
  // What was there may have been deleted since.
  if (missing !== undefined && isMissing(live.error)) return missing;
  if (live.value === undefined && live.error === undefined) return <p className="quiet">{t.loading}</p>;
  return (
    <>
      <LiveProblem live={live} />
      {live.value !== undefined && children(live.value)}
    </>
  );
}

/** Why what is shown is no longer live. */
export function LiveProblem({ live: { error } }: { live: Live<unknown> }) {
  return error !== undefined && <Problem error={error} onRetry={askAgain} />;
}

export interface Continued<N> {
  readonly rows: readonly N[];
  /** A button, if there is more. */
  readonly more: ReactNode;
}

/**
 * The live rows with those that were read after them. What is read begins with the live page as it was by then: rows that leave the live page stay where
 * they are until all is read again, so nothing falls between the two. `read` reads the rows after one.
 */
export function useContinued<N>(
  live: readonly N[],
  options: {
    readonly keyOf: (row: N) => string;
    readonly pageSize: number;
    readonly read: (last: N) => Promise<readonly N[]>;
  },
): Continued<N> {
  const { keyOf, pageSize } = options;
  const latest = useRef({ live, ...options });
  latest.current = { live, ...options };
  const pages = useInfiniteQuery({
    queryKey: ['continued', useId()],
    queryFn: ({ pageParam: last }) =>
      last === undefined ? latest.current.live : latest.current.read(last as N),
    initialPageParam: undefined as N | undefined,
    initialData: { pages: [live], pageParams: [undefined] },
    getNextPageParam: (page) => (page.length >= pageSize ? page.at(-1) : undefined),
    gcTime: 0,
  });
  const { data, refetch, fetchNextPage } = pages;
  const isContinued = data.pages.length > 1;
  const mark = useMemo(() => live.map(keyOf).join('\n'), [live, keyOf]);
  useFollowing(pages, { mark, isOpen: isContinued });
  const rows = useMemo(() => {
    const byKey = new Map(live.map((row) => [keyOf(row), row]));
    if (isContinued)
      for (const row of data.pages.flat()) if (!byKey.has(keyOf(row))) byKey.set(keyOf(row), row);
    return [...byKey.values()];
  }, [live, keyOf, data, isContinued]);
  /** What the next page comes after may be somewhere else by now, or gone. */
  const readMore = async () => {
    await refetch();
    await fetchNextPage();
  };
  const { hasNextPage, isRefetchError, isFetchNextPageError } = pages;
  return {
    rows,
    more: (hasNextPage || isRefetchError) && (
      <>
        {!isFetchNextPageError && <ProblemOf query={pages} />}
        <More pages={pages} read={readMore} />
      </>
    ),
  };
}

interface Edge<N> {
  readonly cursor: string;
  readonly node: N;
}

const cursorOf = ({ cursor }: Edge<unknown>) => cursor;

/** A list in pages of 100, of which the first is live. */
export function LivePages<T, N>(props: {
  readonly live: Live<T>;
  readonly edgesOf: (value: T) => readonly Edge<N>[] | null | undefined;
  readonly read: (after: string) => Promise<readonly Edge<N>[] | undefined>;
  readonly children: (rows: readonly N[], more: ReactNode) => ReactNode;
}) {
  const { live, edgesOf } = props;
  return (
    <LiveAnswer live={live}>{(value) => <Pages {...props} edges={edgesOf(value) ?? none} />}</LiveAnswer>
  );
}

const none: readonly never[] = [];

function Pages<N>(props: {
  readonly edges: readonly Edge<N>[];
  readonly read: (after: string) => Promise<readonly Edge<N>[] | undefined>;
  readonly children: (rows: readonly N[], more: ReactNode) => ReactNode;
}) {
  const { rows, more } = useContinued(props.edges, {
    keyOf: cursorOf,
    pageSize: 100,
    read: async ({ cursor }) => (await props.read(cursor)) ?? [],
  });
  return props.children(
    rows.map(({ node }) => node),
    more,
  );
}
