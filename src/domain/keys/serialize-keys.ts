/** The serialize keys in use: which item has each, and how many wait for it. */
import type { Queries } from '../../db/database.ts';
import { checkName } from '../values/checks.ts';
import type { ItemKey } from '../values/ids.ts';
import { maxSerializeKeyLength } from '../values/limits.ts';
import { namesOf } from '../values/tenants.ts';

export interface SerializeKey {
  readonly key: string;
  /** The item that has it. */
  readonly head: ItemKey;
  /** That item failed for good, and keeps the key until somebody settles it. */
  readonly held: boolean;
  readonly blocked: number;
}

interface KeyRow {
  readonly key: string;
  readonly job_id: string;
  readonly position: number;
  readonly held: boolean;
  readonly blocked: number;
}

export interface KeysWanted {
  readonly keys: readonly string[] | null;
  readonly tenant?: string | null;
  /** Only keys after this place; not with `keys`. */
  readonly after?: { readonly blocked: number; readonly key: string } | null;
  readonly take: number;
}

/** Reads the given keys, or else those of a tenant, or else all, with most blocked items first. Without `keys`, all blocked items are counted. */
export async function readSerializeKeys(
  database: Queries,
  { keys, tenant = null, after = null, take }: KeysWanted,
): Promise<SerializeKey[]> {
  const { from, until } = namesOf(tenant);
  for (const [i, key] of (keys ?? []).entries()) checkName(key, `keys[${i}]`, maxSerializeKeyLength);
  const { rows } = await database.pool.query<KeyRow>(
    keys === null
      ? {
          name: `read_longest_keys/${after !== null}`,
          text: `select l.key, k.job_id, k.position, coalesce(e.held, false) as held, l.blocked
                 from (
                   select b.key, count(*) as blocked from jobtree.blocked_item b
                   where ($2::text is null or b.key > $2 and b.key < $3)
                   group by b.key
                   ${after === null ? '' : 'having (-count(*), b.key) > (-$4::bigint, $5::text collate "C")'}
                   order by blocked desc, b.key
                   limit $1
                 ) l
                 cross join lateral (select * from jobtree.serialize_key where key = l.key and job_id is not null limit 1) k
                 left join jobtree.ended_head e on e.job_id = k.job_id and e.position = k.position
                 order by l.blocked desc, l.key`,
          values: [take, from, until, ...(after === null ? [] : [after.blocked, after.key])],
        }
      : {
          name: 'read_keys',
          text: `select k.key, k.job_id, k.position, coalesce(e.held, false) as held, l.blocked
                 from unnest($1::text[]) u(key)
                 cross join lateral (
                   select * from jobtree.serialize_key where key = u.key collate "C" and job_id is not null limit 1
                 ) k
                 cross join lateral (select count(*) as blocked from jobtree.blocked_item where key = u.key collate "C") l
                 left join jobtree.ended_head e on e.job_id = k.job_id and e.position = k.position
                 order by l.blocked desc, k.key
                 limit $2`,
          values: [[...new Set(keys)], take],
        },
  );
  return rows.map(({ key, job_id: jobId, position, held, blocked }) => ({
    key,
    head: { jobId, position },
    held,
    blocked,
  }));
}
