/** How large the parts of items are, measured in Postgres before they are read. */
import type { Queries } from '../../db/database.ts';
import { type ItemKey, itemIdOf } from '../values/ids.ts';

/** The parts of an item that may be large, each with how often it is requested. */
export interface ItemParts {
  readonly payload: number;
  readonly result: number;
  /** Without their stacks. */
  readonly failures: number;
  /** Of the last failure alone, without its stack. */
  readonly lastFailure: number;
  readonly stacks: number;
  readonly log: number;
}

/**
 * To measure a result Postgres has to unpack it, which takes as long as reading it. A result is written once, so the sizes of large ones are kept:
 * a page that many watch, or that was refused, is measured again in no time.
 */
const resultBytes = new Map<string, number>();
const rememberedBytes = 10_000;
const mostRemembered = 20_000;

function remember(key: ItemKey, bytes: number): void {
  if (bytes < rememberedBytes) return;
  const id = itemIdOf(key);
  resultBytes.delete(id);
  resultBytes.set(id, bytes);
  if (resultBytes.size > mostRemembered) resultBytes.delete(resultBytes.keys().next().value as string);
}

/** The total size in bytes of these parts of each item, in the order of the keys. Parts that are not requested are not read. */
export async function readItemSizes(
  database: Queries,
  keys: readonly ItemKey[],
  { payload, result, failures, stacks, log, lastFailure }: ItemParts,
): Promise<number[]> {
  const known = result > 0 ? keys.map((key) => resultBytes.get(itemIdOf(key)) ?? null) : [];
  const { rows } = await database.pool.query<{ sizes: [n: number, result: number, others: number][] | null }>(
    {
      name: 'read_item_sizes',
      text: `select json_agg(json_build_array(u.n,
               case when $4::bigint > 0 then coalesce(u.known, (
                   select octet_length(o.result::text) from jobtree.outcome o
                   where o.job_id = i.job_id and o.position = i.position), 0) else 0 end,
               $3::bigint * i.payload_bytes
               + case when $5::bigint > 0 then $5 * coalesce((
                   select sum(octet_length(f.code) + octet_length(f.message)) from jobtree.failure f
                   where f.job_id = i.job_id and f.position = i.position), 0) else 0 end
               + case when $6::bigint > 0 then $6 * coalesce((
                   select sum(octet_length(f.stack)) from jobtree.failure f
                   where f.job_id = i.job_id and f.position = i.position), 0) else 0 end
               + case when $7::bigint > 0 then $7 * coalesce((
                   select octet_length(n.log::text) from jobtree.item_note n
                   where n.job_id = i.job_id and n.position = i.position), 0) else 0 end
               + case when $8::bigint > 0 then $8 * coalesce((
                   select octet_length(f.code) + octet_length(f.message) from jobtree.failure f
                   where f.job_id = i.job_id and f.position = i.position order by f.attempt desc limit 1), 0) else 0 end)
             order by u.n) as sizes
           from unnest($1::uuid[], $2::bigint[], $9::bigint[]) with ordinality as u(job_id, position, known, n)
           cross join lateral (
             select * from jobtree.job_item where job_id = u.job_id and position = u.position limit 1
           ) i`,
      values: [
        keys.map(({ jobId }) => jobId),
        keys.map(({ position }) => position),
        payload,
        result,
        failures,
        stacks,
        log,
        lastFailure,
        known,
      ],
    },
  );
  return (rows[0]?.sizes ?? []).map(([n, bytes, others]) => {
    remember(keys[n - 1] as ItemKey, bytes);
    return result * bytes + others;
  });
}
