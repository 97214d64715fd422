/**
 * Pages by key: a page is what stands behind a key in its list's order, whether or not a row still has the key, or still
 * meets the filter. So nothing is left out while what a list shows changes.
 */
import { queryFromInfo } from '@pothos/plugin-prisma';
import { parseCursorConnectionArgs } from '@pothos/plugin-relay';
import type { GraphQLResolveInfo } from 'graphql';
import { InvalidInputError } from '../errors.ts';

const defaultPageSize = 50;
const maxPageSize = 1_000;

interface PageArgs {
  readonly first?: number | null | undefined;
  readonly last?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly before?: string | null | undefined;
}

/** How a list is ordered: by a key that each of its nodes has alone. */
export interface ListOrder<Node, Key> {
  /** Stands in the cursors, so that one of another list is known. */
  readonly name: string;
  readonly keyOf: (node: Node) => string;
  /** The key in a text of `keyOf`; undefined for any other text. */
  readonly parse: (text: string) => Key | undefined;
}

/** What a page wants of its list: so many rows between two keys, from the start or from the end. */
export interface Range<Key> {
  readonly after: Key | undefined;
  readonly before: Key | undefined;
  readonly take: number;
  readonly backwards: boolean;
}

interface Page<Node> {
  readonly edges: { cursor: string; node: Node }[];
  readonly pageInfo: {
    hasNextPage: boolean;
    hasPreviousPage: boolean;
    startCursor: string | null;
    endCursor: string | null;
  };
}

export async function readPage<Node extends object, Key>(
  order: ListOrder<Node, Key>,
  args: PageArgs,
  read: (range: Range<Key>) => Promise<Node[]>,
): Promise<Page<Node>> {
  for (const name of ['first', 'last'] as const) {
    if ((args[name] ?? 0) < 0) throw new InvalidInputError(`${name} is negative.`, name);
  }
  const after = parseCursor(order, args.after, 'after');
  const before = parseCursor(order, args.before, 'before');
  const { first = null, last = null } = args;
  const { limit, expectedSize, inverted, hasNextPage, hasPreviousPage } = parseCursorConnectionArgs({
    args: { first, last, after: args.after ?? null, before: args.before ?? null },
    defaultSize: defaultPageSize,
    maxSize: maxPageSize,
  });
  // One row more than the page shows, if there is one.
  const rows = await read({ after, before, take: limit, backwards: inverted });
  const nodes = rows.slice(0, expectedSize);
  if (inverted) nodes.reverse();
  const edges = nodes.map((node) => ({
    cursor: Buffer.from(`${order.name}:${order.keyOf(node)}`).toString('base64'),
    node,
  }));
  return {
    edges,
    pageInfo: {
      hasNextPage: hasNextPage(rows.length),
      hasPreviousPage: hasPreviousPage(rows.length),
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  };
}

function parseCursor<Node, Key>(
  order: ListOrder<Node, Key>,
  cursor: string | null | undefined,
  field: string,
): Key | undefined {
  if (cursor == null) return undefined;
  const text = Buffer.from(cursor, 'base64').toString();
  const key = text.startsWith(`${order.name}:`) ? order.parse(text.slice(order.name.length + 1)) : undefined;
  if (key === undefined) throw new InvalidInputError(`${field} is no cursor of this list.`, field);
  return key;
}

/** What the selection of a page needs of each node beside its own columns, for Prisma. */
export function nodeQuery<Include extends object>(
  typeName: string,
  context: object,
  info: GraphQLResolveInfo,
): { include?: Include } {
  const { include } = queryFromInfo({ context, info, typeName, paths: [['nodes'], ['edges', 'node']] });
  return include === undefined ? {} : { include: include as Include };
}

/** For the cost of a page: how many nodes it can have. */
export function pageSize({ first, last }: PageArgs): number {
  return Math.min(first ?? last ?? defaultPageSize, maxPageSize);
}
