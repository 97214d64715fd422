/**
 * Pages by key: a page is what follows a key in the order of its list, whether or not a row still has the key, or still matches
 * the filter. So nothing is skipped while the rows of a list change.
 */
import { queryFromInfo } from '@pothos/plugin-prisma';
import { parseCursorConnectionArgs } from '@pothos/plugin-relay';
import type { GraphQLResolveInfo } from 'graphql';
import { checkInteger } from '../../domain/values/checks.ts';
import type { Range } from '../../domain/values/range.ts';
import { InvalidInputError } from '../../errors.ts';

const defaultPageSize = 50;
const maxPageSize = 1_000;

interface PageArgs {
  readonly first?: number | null | undefined;
  readonly last?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly before?: string | null | undefined;
}

/** The order of a list: by a key that is unique for each of its nodes. */
export interface ListOrder<Node, Key> {
  /** Part of the cursors, so that a cursor of another list is recognized. */
  readonly name: string;
  readonly keyOf: (node: Node) => string;
  /** Parses a text of `keyOf`; undefined for any other text. */
  readonly parse: (text: string) => Key | undefined;
}

interface Edge<Node> {
  readonly cursor: string;
  readonly node: Node;
}

interface Page<Node> {
  readonly edges: Edge<Node>[];
  readonly pageInfo: {
    hasNextPage: boolean;
    hasPreviousPage: boolean;
    startCursor: string | null;
    endCursor: string | null;
  };
}

interface Found<Row> {
  readonly rows: Row[];
  /** Where the page ends although it is not full: the list goes on after it. */
  readonly end: Row | null;
}

/**
 * `readRows` reads rows in the order of the list, one more than requested if there is one; `toNodes` turns those that the page
 * shows into nodes, in their order.
 */
export async function readPage<Row extends object, Node extends Row, Key>(
  order: ListOrder<Row, Key>,
  args: PageArgs,
  readRows: (range: Range<Key>) => Promise<Row[] | Found<Row>>,
  toNodes: (rows: Row[]) => Node[] | Promise<Node[]>,
): Promise<Page<Node>> {
  for (const name of ['first', 'last'] as const) {
    if (args[name] != null) checkInteger(args[name], name, 0, maxPageSize);
  }
  const after = parseCursor(order, args.after, 'after');
  const before = parseCursor(order, args.before, 'before');
  const { first = null, last = null } = args;
  const { limit, expectedSize, inverted, hasNextPage, hasPreviousPage } = parseCursorConnectionArgs({
    args: { first, last, after: args.after ?? null, before: args.before ?? null },
    defaultSize: defaultPageSize,
    maxSize: maxPageSize,
  });
  const found = await readRows({ after, before, take: limit, backwards: inverted });
  const { rows, end } = Array.isArray(found) ? { rows: found, end: null } : found;
  const shown = rows.slice(0, expectedSize);
  if (inverted) shown.reverse();
  const cursorOf = (row: Row) => Buffer.from(`${order.name}:${order.keyOf(row)}`).toString('base64');
  const edges = (await toNodes(shown)).map((node) => ({ cursor: cursorOf(node), node }));
  const cut = end !== null && rows.length <= expectedSize ? cursorOf(end) : null;
  return {
    edges,
    pageInfo: {
      hasNextPage: hasNextPage(rows.length) || (cut !== null && !inverted),
      hasPreviousPage: hasPreviousPage(rows.length) || (cut !== null && inverted),
      startCursor: (inverted ? cut : null) ?? edges[0]?.cursor ?? null,
      endCursor: (inverted ? null : cut) ?? edges.at(-1)?.cursor ?? null,
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

/** Where the selection of a page has its nodes. */
export const nodePaths = [['nodes'], ['edges', 'node']];

/** What the selection of a page needs of each node besides its own columns, for Prisma. */
export function nodeQuery<Include extends object>(
  typeName: string,
  context: object,
  info: GraphQLResolveInfo,
): { include?: Include } {
  const { include } = queryFromInfo({ context, info, typeName, paths: nodePaths });
  return include === undefined ? {} : { include: include as Include };
}

/** For the cost of a page: the most nodes that it can have. */
export function pageSize({ first, last }: PageArgs): number {
  return Math.min(Math.max(first ?? last ?? defaultPageSize, 0), maxPageSize);
}

/** For lists without cursors, which are read anew each time: how many of the first entries to show. */
export const firstDescription = 'The maximum number: 0 to 1,000. Default: 50.';

interface FirstArgs {
  readonly first: number;
}

export function checkFirst({ first }: FirstArgs): number {
  return checkInteger(first, 'first', 0, maxPageSize);
}

/** The cost of what is selected of an entry counts for each entry. */
export function firstComplexity({ first }: FirstArgs): { multiplier: number } {
  return { multiplier: Math.min(Math.max(first, 0), maxPageSize) };
}
