/**
 * Finds items of a job by their payloads, the code of their last failure, or their dedupe keys. Only the last has an index within a job, so it reads one
 * item after the other: so many in a call.
 */
import type { Queries } from '../../db/database.ts';
import type { Survey } from '../../db/surveys.ts';
import { InvalidInputError } from '../../errors.ts';
import { checkBatch, checkInteger, checkText } from '../values/checks.ts';
import type { ItemKey } from '../values/ids.ts';
import { maxDedupeKeyLength, maxNameLength } from '../values/limits.ts';

/** What an item must meet: all conditions that are set. */
export interface ItemConditions {
  /** Keys or list positions, separated by dots; what it leads to, as text, is `equals`. */
  readonly path?: string | null | undefined;
  readonly equals?: string | null | undefined;
  /** Part of the JSON text, ignoring case. */
  readonly text?: string | null | undefined;
  /** Of its last failure. */
  readonly codes?: readonly string[] | null | undefined;
  readonly dedupeKeys?: readonly string[] | null | undefined;
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

/**
 * At most 10,000 items are looked at, and at least one of about 16 million characters, in the order of the key up to the limit: whatever Postgres
 * knows of the job, it must not read all of it. `searched` are those before the first that is left out.
 */
const searchOf = (name: string, candidates: string): Survey => ({
  name,
  without: ['seqscan', 'bitmapscan'],
  text: `with item as materialized (
      select i.position, i.payload, row_number() over w as n, sum(i.payload_bytes) over w - i.payload_bytes as characters_before
      from (
        ${candidates}
        limit 10001
      ) i
      window w as (order by i.job_id, i.position rows unbounded preceding)
    ), found as materialized (
      select i.position, i.n, row_number() over (order by i.n) as m
      from item i
      where i.n <= 10000 and i.characters_before < 16000000
        and ($3::text[] is null or i.payload #>> $3::text[] = $4)
        and ($5::text is null or strpos(lower(i.payload::text), lower($5::text)) > 0)
        and ($7::text[] is null or (
          select f.code from jobtree.failure f
          where (f.job_id, f.position) = ($1, i.position) order by f.attempt desc limit 1
        ) = any ($7))
    ), stop as (
      -- The first item that is not looked at, or left out.
      select coalesce(
        (select f.n from found f where f.m = $6::integer + 1),
        (select min(i.n) from item i where i.n > 10000 or i.characters_before >= 16000000)
      ) as n
    )
    select to_json(array(select f.position from found f where f.m <= $6 order by f.m)) as positions,
      coalesce(s.n - 1, (select count(*) from item))::integer as searched,
      (select i.position from item i where i.n = s.n) as next_from
    from stop s`,
});

const search = searchOf(
  'search_items',
  `select * from jobtree.job_item i
        where (i.job_id, i.position) >= ($1, $2) and (i.job_id, i.position) < ($1, 9223372036854775807)
        order by i.job_id, i.position`,
);

/** One item for each key, at most. */
const searchKeys = searchOf(
  'search_keys',
  `select * from jobtree.job_item i
        where i.job_id = $1 and i.dedupe_key = any ($8::text[]) and i.position >= $2
        order by i.position`,
);

/** The items from `from` on that meet the conditions, in their order, as far as one call looks. */
export async function searchItems(
  database: Queries,
  jobId: string,
  conditions: ItemConditions,
  { from, first }: { from: ItemKey | undefined; first: number },
): Promise<Found> {
  const { path, equals, text, codes, dedupeKeys } = checkConditions(conditions);
  checkInteger(first, 'first', 1, mostFound);
  if (from !== undefined && from.jobId !== jobId)
    throw new InvalidInputError('from is not an item of this job.', 'from');
  const { rows } = await database.surveys.query<{
    positions: number[];
    searched: number;
    next_from: number | null;
  }>({
    ...(dedupeKeys === null ? search : searchKeys),
    values: [
      jobId,
      from?.position ?? 0,
      path,
      equals,
      text,
      first,
      codes,
      ...(dedupeKeys === null ? [] : [dedupeKeys]),
    ],
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

function checkConditions({ path, equals, text, codes, dedupeKeys }: ItemConditions) {
  if ((path == null) !== (equals == null)) {
    const missing = path == null ? 'path' : 'equals';
    throw new InvalidInputError(`${missing} is missing: path and equals belong together.`, missing);
  }
  if ((path ?? text ?? codes ?? dedupeKeys) == null)
    throw new InvalidInputError('There is no condition: give path, text, codes or dedupeKeys.', 'text');
  checkList(codes, 'codes', maxNameLength);
  checkList(dedupeKeys, 'dedupeKeys', maxDedupeKeyLength);
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
  return {
    path: path?.split('.') ?? null,
    equals: equals ?? null,
    text: text ?? null,
    codes: codes ?? null,
    dedupeKeys: dedupeKeys ?? null,
  };
}

function checkList(list: readonly string[] | null | undefined, field: string, maxLength: number): void {
  if (list == null) return;
  checkBatch(list.length, field);
  for (const [i, value] of list.entries()) checkText(value, `${field}[${i}]`, maxLength);
}
