/** The items of a job as ranges, for pictures of jobs of any size. */
import type { Queries } from '../../db/database.ts';
import { InvalidInputError } from '../../errors.ts';
import type { ItemKey } from '../values/ids.ts';
import { type ItemStatus, itemStatuses } from '../values/item-state.ts';
import { afterAllPositions } from './item-pages.ts';

/** Items that follow each other in the order of their job. */
export interface ItemRange {
  readonly first: ItemKey;
  readonly last: ItemKey;
  readonly counts: readonly { readonly status: ItemStatus; readonly count: number }[];
}

export interface ItemRanges {
  readonly ranges: readonly ItemRange[];
  /** Where to go on; null if everything was read. */
  readonly next: ItemKey | null;
}

export const mostRanges = 2_000;

/** The ranges of a job's items, from `from` up to and including `to`, as item_ranges makes them. */
export async function readItemRanges(
  database: Queries,
  jobId: string,
  { from, to, most }: { from: ItemKey | undefined; to: ItemKey | undefined; most: number },
): Promise<ItemRanges> {
  if (most < 1 || most > mostRanges)
    throw new InvalidInputError(`most is ${most}: it must be from 1 to 2,000.`, 'most');
  for (const [name, key] of Object.entries({ from, to })) {
    if (key !== undefined && key.jobId !== jobId)
      throw new InvalidInputError(`${name} is not an item of this job.`, name);
  }
  const until = to === undefined ? afterAllPositions : to.position + 1;
  const { rows } = await database.surveys.query<{
    next_from: number | null;
    ranges: [first: number, last: number, counts: Partial<Record<ItemStatus, number>>][];
  }>({
    name: 'item_ranges',
    text: 'select next_from, ranges from jobtree.item_ranges($1, $2, $3, $4)',
    values: [jobId, from?.position ?? 0, until, most],
  });
  const [found] = rows;
  if (found === undefined) throw new Error('item_ranges returned no row');
  const keyOf = (position: number): ItemKey => ({ jobId, position });
  return {
    ranges: found.ranges.map(([first, last, counts]) => ({
      first: keyOf(first),
      last: keyOf(last),
      counts: itemStatuses.flatMap((status) => {
        const count = counts[status];
        return count === undefined ? [] : [{ status, count }];
      }),
    })),
    next: found.next_from === null ? null : keyOf(found.next_from),
  };
}
