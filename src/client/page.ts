/** Lists, page by page. */
import { JobtreeError } from './errors.ts';
import type { Page } from './types.ts';

interface Connection<Node> {
  readonly edges: readonly { readonly node: Node }[];
  readonly pageInfo: { readonly endCursor?: string | null; readonly hasNextPage: boolean };
}

/** The result of one item of a final stage. */
export interface Result<Payload, R> {
  readonly itemId: string;
  readonly payload: Payload;
  readonly result: R;
}

const resultsPageSize = 500;

export function toPage<Node>({ edges, pageInfo }: Connection<Node>): Page<Node> {
  const { endCursor = null, hasNextPage } = pageInfo;
  return { nodes: edges.map(({ node }) => node), endCursor, hasNextPage };
}

/** Halves the number for as long as so many items are too large for one answer. */
export async function asManyAsFit<P>(first: number, read: (first: number) => Promise<P>): Promise<P> {
  try {
    return await read(first);
  } catch (error) {
    if (!(error instanceof JobtreeError && error.code === 'LIMIT_EXCEEDED') || first <= 1) throw error;
    return asManyAsFit(Math.floor(first / 2), read);
  }
}

/** Reads page after page, each as large as fits into one answer. */
export async function* readPages(
  read: (
    first: number,
    after: string | undefined,
  ) => Promise<Page<{ id: string; payload?: unknown; result?: unknown }>>,
): AsyncGenerator<Result<unknown, unknown>, void, undefined> {
  let size = resultsPageSize;
  let after: string | undefined;
  do {
    const { nodes, endCursor, hasNextPage } = await asManyAsFit(size, (first) => read(first, after));
    // The items that follow may be smaller.
    size = Math.min(2 * nodes.length, resultsPageSize);
    for (const { id, payload, result } of nodes) yield { itemId: id, payload, result };
    after = hasNextPage ? (endCursor ?? undefined) : undefined;
  } while (after !== undefined);
}
