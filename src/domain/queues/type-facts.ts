/** What keeps workers from getting the ready items of a type. */
import type { Engine } from '../engine/engine.ts';
import { liveLeases } from '../figures/workers.ts';

export interface TypeFacts {
  readonly type: string;
  readonly paused: boolean;
  readonly concurrency: number | null;
  /** How many more items may be claimed now; null without a pause and limits. */
  readonly room: number | null;
  /** When there is room again, if that is known. */
  readonly roomAt: Date | null;
  readonly held: number;
  /** How many workers are connected that handle it, and how many items they run at once; null if one did not say. */
  readonly workers: number;
  readonly places: number | null;
  /** When something was last done of it, to the minute. */
  readonly workedAt: Date | null;
}

export async function readTypeFacts(
  { database, workers }: Pick<Engine, 'database' | 'workers'>,
  types: readonly string[],
): Promise<Map<string, TypeFacts>> {
  if (types.length === 0) return new Map();
  const [{ rows }, places] = await Promise.all([
    database.pool.query<Omit<TypeFacts, 'workers' | 'places'>>({
      name: 'read_type_facts',
      text: `with ${liveLeases('jobtree.few_jobs($1, null)')}, held as (
               select j.type, sum(bit_count(l.open))::int as items
               from live l
               cross join lateral (select j.type from jobtree.job j where j.id = l.job_id offset 0) j
               where j.type = any ($1)
               group by j.type
             )
             select u.type, coalesce(q.paused, false) as paused, q.concurrency, r.room,
               clock_timestamp() + r.again_in_ms * interval '1 ms' as "roomAt", coalesce(h.items, 0) as held, f.minute as "workedAt"
             from unnest($1::text[]) u(type)
             left join jobtree.queue q on q.type = u.type collate "C"
             left join jobtree.queue_rooms($1) r on r.type = u.type
             left join held h on h.type = u.type
             left join lateral (
               select minute from jobtree.figure where type = u.type collate "C" order by minute desc limit 1
             ) f on true`,
      values: [types],
    }),
    workers.readPlaces(database, types),
  ]);
  return new Map(
    rows.map((row) => [row.type, { ...row, ...(places.get(row.type) ?? { workers: 0, places: null }) }]),
  );
}

interface Obstacle {
  readonly reason: 'PAUSED' | 'NO_WORKER' | 'RATE_LIMIT' | 'CONCURRENCY_LIMIT' | 'WORKERS_BUSY' | 'QUEUED';
  readonly until?: Date | null;
  readonly since?: Date | null;
  readonly limit?: number | null;
}

/** Nothing is known of a type that the caller may not ask about. */
export function obstaclesOf(facts: TypeFacts | undefined): Obstacle[] {
  if (facts === undefined) return [{ reason: 'QUEUED' }];
  const { paused, concurrency, room, roomAt, held, workers, places, workedAt } = facts;
  const found: Obstacle[] = [];
  if (paused) found.push({ reason: 'PAUSED' });
  if (workers === 0 && held === 0) found.push({ reason: 'NO_WORKER', since: workedAt });
  if (!paused && room === 0) {
    const isFull = concurrency !== null && held >= concurrency;
    found.push(
      isFull ? { reason: 'CONCURRENCY_LIMIT', limit: concurrency } : { reason: 'RATE_LIMIT', until: roomAt },
    );
  }
  if (found.length > 0) return found;
  return [{ reason: places !== null && held >= places ? 'WORKERS_BUSY' : 'QUEUED' }];
}
