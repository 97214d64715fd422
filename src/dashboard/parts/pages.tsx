/** Lists in pages of 100: the next one is fetched when it is asked for. */
import { type InfiniteData, type UseInfiniteQueryResult, useInfiniteQuery } from '@tanstack/react-query';
import type { Document } from '../../client/document.ts';
import { ask } from '../data/connection.ts';
import { useTexts } from '../texts/texts.ts';

export interface Paged<N> {
  readonly nodes: readonly N[];
  readonly pageInfo: { readonly endCursor?: string | null; readonly hasNextPage: boolean };
}

export type Pages<N> = UseInfiniteQueryResult<InfiniteData<Paged<N>>>;

/** `pageIn` finds the connection in an answer. */
export function usePages<R, V extends { after?: string | null | undefined }, N>(
  document: Document<R, V>,
  variables: Omit<V, 'after'>,
  pageIn: (data: R) => Paged<N> | null | undefined,
): Pages<N> {
  return useInfiniteQuery({
    queryKey: ['pages', document.toString(), variables],
    queryFn: async ({ pageParam, signal }) => {
      const data = await ask(document, { ...variables, after: pageParam } as V, signal);
      return pageIn(data) ?? { nodes: [], pageInfo: { hasNextPage: false } };
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ pageInfo }) =>
      pageInfo.hasNextPage ? (pageInfo.endCursor ?? undefined) : undefined,
  });
}

export const nodesOf = <N,>(pages: Pages<N>): readonly N[] =>
  pages.data?.pages.flatMap(({ nodes }) => nodes) ?? [];

export function More<N>({ pages }: { pages: Pages<N> }) {
  const t = useTexts();
  if (!pages.hasNextPage) return null;
  return (
    <button
      type="button"
      className="more"
      disabled={pages.isFetchingNextPage}
      onClick={() => void pages.fetchNextPage()}
    >
      {pages.isFetchingNextPage ? t.loading : t.more}
    </button>
  );
}
