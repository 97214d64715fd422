/** Upkeep: what is old is removed a batch at a time. */
import type { Queries, Statement } from './database.ts';

export interface Old {
  readonly table: string;
  /** What names a row. Default: `id`. */
  readonly key?: 'id' | 'ctid';
  /** Which rows to remove, in SQL: `$2` and so on are the values. */
  readonly where: string;
  readonly orderBy?: string;
}

/** Its first value is how many rows to remove at most. */
export const pruning = ({ table, key = 'id', where, orderBy }: Old): Statement => ({
  name: `prune_${table}`,
  first: `gone as (
    delete from jobtree.${table} where ${key} = any (array(
      select ${key} from jobtree.${table} where ${where} ${orderBy ? `order by ${orderBy}` : ''} limit $1 for update skip locked
    )) returning 1
  )`,
  text: 'select count(*)::integer as count from gone',
});

/** Removes up to `batch` rows, except locked ones, which another server is removing. Returns whether there may be more. */
export async function prune(
  database: Pick<Queries, 'call'>,
  old: Old,
  batch: number,
  ...values: readonly unknown[]
): Promise<boolean> {
  const [row] = await database.call<{ count: number }>(pruning(old), batch, ...values);
  return row?.count === batch;
}

/** Rows whose ids begin with the time of their creation, which was more than 30 days ago. */
export const monthOld = `id < (lpad(to_hex((extract(epoch from now() - interval '30 days') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid`;
