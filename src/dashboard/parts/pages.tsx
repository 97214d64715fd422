/** Lists in pages of 100: the next one is fetched when it is asked for. */
import {
  type InfiniteData,
  infiniteQueryOptions,
  type UseInfiniteQueryResult,
  useInfiniteQuery,
} from '@tanstack/react-query';
import type { Document } from '../../client/document.ts';
import { ask } from '../data/connection.ts';
import { useTexts } from '../texts/texts.ts';
import { Problem } from './ask.tsx';

export interface Paged<N> {
  readonly nodes: readonly N[];
  readonly pageInfo: { readonly endCursor?: string | null; readonly hasNextPage: boolean };
}

export type Pages<N> = UseInfiniteQueryResult<InfiniteData<Paged<N>>>;

/** Whoever comes back to a list finds what they had; only if that is short, all of it is read again. */
const mostReadAgain = 5;

/** `pageIn` finds the connection in an answer. */
export function pagesOf<R, V extends { after?: string | null | undefined }, N>(
  document: Document<R, V>,
  variables: Omit<V, 'after'>,
  pageIn: (data: R) => Paged<N> | null | undefined,
) {
  const isShort = ({ state }: { state: { data?: InfiniteData<Paged<N>> | undefined } }) =>
    (state.data?.pages.length ?? 0) <= mostReadAgain;
  return infiniteQueryOptions({
    queryKey: ['pages', document.toString(), variables],
    queryFn: async ({ pageParam, signal }): Promise<Paged<N>> => {
      const data = await ask(document, { ...variables, after: pageParam } as V, signal);
      return pageIn(data) ?? { nodes: [], pageInfo: { hasNextPage: false } };
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ pageInfo }) =>
      pageInfo.hasNextPage ? (pageInfo.endCursor ?? undefined) : undefined,
    refetchOnMount: isShort,
    refetchOnWindowFocus: isShort,
    refetchOnReconnect: isShort,
  });
}

export function usePages<R, V extends { after?: string | null | undefined }, N>(
  document: Document<R, V>,
  variables: Omit<V, 'after'>,
  pageIn: (data: R) => Paged<N> | null | undefined,
): Pages<N> {
  return useInfiniteQuery(pagesOf(document, variables, pageIn));
}

const nodes = new WeakMap<object, readonly unknown[]>();

/** The same list as long as it is of the same pages. */
export function nodesOf<N>({ data }: Pages<N>): readonly N[] {
  if (data === undefined) return none;
  let found = nodes.get(data);
  if (found === undefined) {
    found = data.pages.flatMap((page) => page.nodes);
    nodes.set(data, found);
  }
  return found as readonly N[];
}

const none: readonly never[] = [];

/** A button, if there are more of them, and why there are none. */
export function More<N>({
  pages,
  read = pages.fetchNextPage,
}: {
  pages: UseInfiniteQueryResult<InfiniteData<N>>;
  read?: () => Promise<unknown>;
}) {
  const t = useTexts();
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, error } = pages;
  if (!hasNextPage) return null;
  return (
    <>
      {isFetchNextPageError && <Problem error={error} onRetry={() => void read()} />}
      <button type="button" className="more" disabled={isFetchingNextPage} onClick={() => void read()}>
        {isFetchingNextPage ? t.loading : t.more}
      </button>
    </>
  );
}
