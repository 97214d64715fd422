/** Items: what a producer may say of a new one, and its check; and how large they are. */
import type { Database } from '../db/database.ts';
import { checkInstant, checkInteger, checkText, toJsonText } from './checks.ts';
import { type Limits, maxDedupeKeyLength, priorityRange } from './limits.ts';

export interface NewItem {
  readonly payload?: unknown;
  readonly dedupeKey?: string | null | undefined;
  readonly priority?: number | null | undefined;
  readonly runAt?: Date | null | undefined;
}

/** The item as the JSON text that insert_items takes. The payload is turned into text once, and not again. */
export function toItemText(
  item: NewItem,
  field: string,
  limits: Limits,
  extra?: Record<string, unknown>,
): string {
  const payload = toJsonText(item.payload, `${field}.payload`, limits.maxJsonBytes);
  if (extra === undefined && item.dedupeKey == null && item.priority == null && item.runAt == null) {
    return `{"payload":${payload}}`;
  }
  const rest = JSON.stringify({
    ...extra,
    dedupeKey:
      item.dedupeKey == null
        ? undefined
        : checkText(item.dedupeKey, `${field}.dedupeKey`, maxDedupeKeyLength),
    priority:
      item.priority == null ? undefined : checkInteger(item.priority, `${field}.priority`, ...priorityRange),
    runAt: item.runAt == null ? undefined : checkInstant(item.runAt, `${field}.runAt`),
  });
  return rest === '{}' ? `{"payload":${payload}}` : `{"payload":${payload},${rest.slice(1)}`;
}

/** What of an item can be large, and how many times it is wanted. */
export interface ItemParts {
  readonly payload: number;
  readonly result: number;
  readonly failures: number;
}

/** How many bytes of JSON text these parts of each item have together, in the order of the ids. Reads no part that is not wanted. */
export async function readItemSizes(
  database: Database,
  itemIds: readonly string[],
  { payload, result, failures }: ItemParts,
): Promise<number[]> {
  const { rows } = await database.pool.query<{ sizes: number[] | null }>({
    name: 'read_item_sizes',
    text: `select json_agg(
               $2::bigint * i.payload_bytes
               + case when $3::bigint > 0 then $3 * coalesce(octet_length(a.result::text), 0) else 0 end
               + case when $4::bigint > 0 then $4 * octet_length(i.failures::text) else 0 end
             order by u.n) as sizes
           from unnest($1::uuid[]) with ordinality u(id, n)
           join jobtree.job_item i on i.id = u.id
           left join jobtree.assignment a on a.held_item_id = i.id`,
    values: [itemIds, payload, result, failures],
  });
  return rows[0]?.sizes ?? [];
}
