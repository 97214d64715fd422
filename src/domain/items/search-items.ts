/** Finds items of a job by their payloads. There is no index of payloads, so it reads one after the other: so many in a call. */
import type { Queries } from '../../db/database.ts';
import { InvalidInputError } from '../../errors.ts';
import { checkInteger, checkText } from '../values/checks.ts';
import type { ItemKey } from '../values/ids.ts';

/** What a payload must meet: all conditions that are set. */
export interface PayloadConditions {
  /** Keys or list positions, separated by dots; what it leads to, as text, is `equals`. */
  readonly path?: string | null | undefined;
  readonly equals?: string | null | undefined;
  /** Part of the JSON text, ignoring case. */
  readonly text?: string | null | undefined;
}

export interface Found {
  readonly keys: readonly ItemKey[];
  /** How many items were looked at. */
  readonly searched: number;
  /** Where to go on; null if all items were looked at. */
  readonly next: ItemKey | null;
}

export const mostFound = 100;
const maxConditionLength = 1_000;

/** The items from `from` on that meet the conditions, in their order, as far as one call looks. */
export async function searchItems(
  database: Queries,
  jobId: string,
  conditions: PayloadConditions,
  { from, first }: { from: ItemKey | undefined; first: number },
): Promise<Found> {
  const { path, equals, text } = checkConditions(conditions);
  checkInteger(first, 'first', 1, mostFound);
  if (from !== undefined && from.jobId !== jobId)
    throw new InvalidInputError('from is not an item of this job.', 'from');
  const { rows } = await database.surveys.query<{
    positions: number[];
    searched: number;
    next_from: number | null;
  }>({
    name: 'search_items',
    text: `select array_to_json(positions) as positions, searched, next_from from jobtree.search_items($1, $2, $3, $4, $5, $6)`,
    values: [jobId, from?.position ?? 0, path, equals, text, first],
  });
  const [found] = rows;
  if (found === undefined) throw new Error('search_items returned no row');
  const keyOf = (position: number): ItemKey => ({ jobId, position });
  return {
    keys: found.positions.map(keyOf),
    searched: found.searched,
    next: found.next_from === null ? null : keyOf(found.next_from),
  };
}

function checkConditions({ path, equals, text }: PayloadConditions) {
  if ((path == null) !== (equals == null)) {
    const missing = path == null ? 'path' : 'equals';
    throw new InvalidInputError(`${missing} is missing: path and equals belong together.`, missing);
  }
  if (path == null && text == null)
    throw new InvalidInputError('path and text are both missing: give one of them, or both.', 'text');
  if (text != null) checkText(text, 'text', maxConditionLength);
  if (equals != null && equals !== '') checkText(equals, 'equals', maxConditionLength);
  if (path != null) {
    checkText(path, 'path', maxConditionLength);
    if (path.split('.').includes(''))
      throw new InvalidInputError(
        'path has an empty part: it consists of keys or list positions, separated by dots.',
        'path',
      );
  }
  return { path: path?.split('.') ?? null, equals: equals ?? null, text: text ?? null };
}
