/** Which server works on which import, for how long. */
import type { Queries, Statement } from '../../db/database.ts';
import type { Engine } from '../engine/engine.ts';
import { tenantOf } from '../values/tenants.ts';
import { importLeaseMs, type LeasedImport } from './file-imports.ts';
import type { FileOptions } from './file-options.ts';

interface ImportRow {
  job_id: string;
  lease_id: string;
  upload_id: string;
  options: FileOptions;
  size: number;
  attempts: number;
  position: number;
  line: number;
  columns: string[] | null;
  type: string;
}

/** Since when an import waits for a server, or when its server will have lost it: as in the index of unfinished ones. */
const waitsSince = 'coalesce(f.leased_until, f.created_at)';

/** In whole milliseconds like stored times, which are rounded: one of just now may be ahead of the clock. */
const rightNow = 'now()::timestamptz(3)';

/**
 * Those that no other server is working on. Tenants take turns: first those of whose imports the fewest are being worked on; of one tenant those
 * that have waited longest. A server that had one before can no longer record progress for it.
 */
export const leaseSome: Statement = {
  name: 'lease_imports',
  first: `recursive name as (
    (select f.type from jobtree.file_import f where f.finished_at is null order by f.type limit 1)
    union all
    select (select f.type from jobtree.file_import f where f.finished_at is null and f.type > n.type order by f.type limit 1)
    from name n where n.type is not null
  ), named as (
    select n.type, t.tenant, sum(u.count) over (partition by t.tenant) as under_way
    from name n
    cross join lateral (select jobtree.tenant_of(n.type) as tenant) t
    cross join lateral (
      select count(*) from jobtree.file_import f where f.finished_at is null and f.type = n.type and ${waitsSince} > ${rightNow}
    ) u
    where n.type is not null
  ), waiting as (
    select w.job_id, w.since, row_number() over (partition by n.tenant order by w.since, w.job_id) + n.under_way as turn
    from named n
    cross join lateral (
      select f.job_id, ${waitsSince} as since from jobtree.file_import f
      where f.finished_at is null and f.type = n.type and ${waitsSince} <= ${rightNow}
        and (select u.store is not null from jobtree.upload u where u.id = f.upload_id) = $3
      order by 2, f.job_id
      -- Other servers may just be taking the first of them.
      limit 4 * $1
    ) w
  ), free as (
    select f.job_id from (select w.* from waiting w order by w.turn, w.since, w.job_id limit 4 * $1) w
    join jobtree.file_import f on f.job_id = w.job_id and ${waitsSince} <= ${rightNow}
    order by w.turn, w.since, w.job_id
    limit $1
    for update of f skip locked
  )`,
  text: `update jobtree.file_import f
    set lease_id = gen_random_uuid(), leased_until = clock_timestamp() + $2 * interval '1 millisecond', attempts = f.attempts + 1,
      started_at = coalesce(f.started_at, clock_timestamp())
    where f.job_id = any (array(select r.job_id from free r))
    returning f.job_id, f.lease_id, f.upload_id, f.options, f.size, f.attempts, f.position, f.line, f.columns, f.type`,
};

/** Leases imports whose uploads are in an object store, or those whose uploads are in Postgres. */
export async function leaseImports(engine: Engine, limit: number, inStore = false): Promise<LeasedImport[]> {
  const rows = await engine.database.call<ImportRow>(leaseSome, limit, importLeaseMs, inStore);
  return rows.map(({ job_id: jobId, lease_id: leaseId, upload_id: uploadId, ...row }) => ({
    jobId,
    leaseId,
    uploadId,
    options: row.options,
    size: row.size,
    attempts: row.attempts,
    place: { position: row.position, line: row.line, columns: row.columns },
    type: row.type,
    tenant: tenantOf(row.type),
  }));
}

/** Whether there are imports that no server is working on. */
export async function importsWait(database: Queries, inStore: boolean): Promise<boolean> {
  const { rows } = await database.pool.query<{ wait: boolean }>({
    name: 'imports_wait',
    text: `select exists (
             select from jobtree.file_import f
             where f.finished_at is null and ${waitsSince} <= ${rightNow}
               and exists (select from jobtree.upload u where u.id = f.upload_id and (u.store is not null) = $1)
           ) as wait`,
    values: [inStore],
  });
  return rows[0]?.wait === true;
}
