/** What is told beside a reason: the jobs that are waited for, how the last attempt failed, and what has the key. */
import type { Engine } from '../engine/engine.ts';
import type { ItemStatus } from '../items/item-state.ts';
import { readItems } from '../items/read-items.ts';
import { type JobStanding, readJobStandings } from '../jobs/job-standings.ts';
import { type ItemKey, itemIdOf } from '../values/ids.ts';
import type { Stand, State } from './standstill.ts';

/** The jobs that the example of a stand waits for, whether they are complete or not. */
export function awaitedBy({ state, job }: Stand): readonly string[] {
  if (job === null) return [];
  if (state === 'WAITS_FOR_JOBS') return job.afterIds;
  return state === 'WAITS_FOR_PARENT' && job.parentId !== null ? [job.parentId] : [];
}

/** Those of these jobs that are not complete. */
export async function readAwaited(
  { database }: Engine,
  stands: readonly Stand[],
): Promise<Map<string, JobStanding>> {
  const ids = [...new Set(stands.flatMap(awaitedBy))];
  if (ids.length === 0) return new Map();
  const jobs = await readJobStandings(database, { ids });
  return new Map(jobs.filter(({ completedAt }) => completedAt === null).map((job) => [job.id, job]));
}

interface Detail {
  readonly code: string | null;
  readonly serializeKey: string | null;
  readonly head: (ItemKey & { readonly status: ItemStatus; readonly isHeld: boolean }) | null;
}

interface DetailRow {
  readonly job_id: string;
  readonly position: number;
  readonly code: string | null;
  readonly key: string | null;
  readonly head_job_id: string | null;
  readonly head_position: number | null;
  readonly held: boolean;
}

const detailed: ReadonlySet<State> = new Set(['KEY_HELD', 'BLOCKED', 'RETRYING', 'FAILED']);

/** Of the examples, by their ids: how the last attempt failed, and what has their key. */
export async function readDetails(
  { database }: Engine,
  stands: readonly Stand[],
): Promise<Map<string, Detail>> {
  const keys = stands.flatMap(({ state, item }) => (item !== null && detailed.has(state) ? [item] : []));
  if (keys.length === 0) return new Map();
  const { rows } = await database.pool.query<DetailRow>({
    name: 'read_standstill_details',
    text: `select u.job_id, u.position, f.code, b.key, k.job_id as head_job_id, k.position as head_position, coalesce(e.held, false) as held
           from unnest($1::uuid[], $2::bigint[]) u(job_id, position)
           left join lateral (
             select code from jobtree.failure where job_id = u.job_id and position = u.position order by attempt desc limit 1
           ) f on true
           left join lateral (
             select key from jobtree.blocked_item where job_id = u.job_id and position = u.position limit 1
           ) b on true
           left join lateral (select * from jobtree.serialize_key where key = b.key limit 1) k on true
           left join lateral (
             select held from jobtree.ended_head where job_id = k.job_id and position = k.position limit 1
           ) e on true`,
    values: [keys.map(({ jobId }) => jobId), keys.map(({ position }) => position)],
  });
  const heads = rows.flatMap(({ head_job_id: jobId, head_position: position }) =>
    jobId === null || position === null ? [] : [{ jobId, position }],
  );
  const read =
    heads.length === 0
      ? []
      : await readItems(database, heads, { details: false, status: true, payload: false, result: false });
  const statuses = new Map(
    read.flatMap((item) => (item === undefined ? [] : [[itemIdOf(item), item.status]])),
  );
  return new Map(
    rows.map((row) => {
      const { job_id: jobId, position, code, key, head_job_id, head_position, held: isHeld } = row;
      const head =
        head_job_id === null || head_position === null
          ? null
          : { jobId: head_job_id, position: head_position };
      const status = head && statuses.get(itemIdOf(head));
      return [
        itemIdOf({ jobId, position }),
        {
          code,
          serializeKey: key,
          head: head === null || status == null ? null : { ...head, status, isHeld },
        },
      ];
    }),
  );
}
