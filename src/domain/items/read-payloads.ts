/** The parts of items that may be large, or their beginnings. */
import type { Queries } from '../../db/database.ts';
import type { ItemKey } from '../values/ids.ts';
import type { JsonText } from '../values/json-text.ts';
import { asJson, requested, toValues } from './read-items.ts';

/** The payload of each item, in the order of the keys. */
export async function readPayloads(
  database: Queries,
  keys: readonly ItemKey[],
): Promise<(JsonText | null | undefined)[]> {
  const { rows } = await database.pool.query<{ payload: string | null }>({
    name: 'read_payloads',
    text: `select i.payload::text ${requested}
           left join jobtree.job_item i on i.job_id = u.job_id and i.position = u.position
           order by u.n`,
    values: toValues(keys),
  });
  return rows.map(({ payload }) => asJson(payload));
}

const largestBegun = 100_000;

/** The first characters of each payload, as JSON; null for one that takes long to read. */
export async function readPayloadBeginnings(
  database: Queries,
  keys: readonly ItemKey[],
  letters: number,
): Promise<(string | null)[]> {
  const { rows } = await database.pool.query<{ beginning: string | null }>({
    name: 'read_payload_beginnings',
    text: `select case when i.payload_bytes <= $4 then left(i.payload::text, $3) end as beginning ${requested}
           left join jobtree.job_item i on i.job_id = u.job_id and i.position = u.position
           order by u.n`,
    values: [...toValues(keys), letters, largestBegun],
  });
  return rows.map(({ beginning }) => beginning);
}

/** The result of each item, in the order of the keys; null where there is none. */
export async function readResults(
  database: Queries,
  keys: readonly ItemKey[],
): Promise<(JsonText | null | undefined)[]> {
  const { rows } = await database.pool.query<{ result: string | null }>({
    name: 'read_results',
    text: `select o.result::text ${requested}
           left join jobtree.outcome o on o.job_id = u.job_id and o.position = u.position and not o.failed
           order by u.n`,
    values: toValues(keys),
  });
  return rows.map(({ result }) => asJson(result));
}
