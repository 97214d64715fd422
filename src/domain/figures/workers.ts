/**
 * Workers: those connected to a server, and all others that hold items. Each server keeps its own connections in memory, and
 * writes them to Postgres at intervals.
 */
import { randomUUID } from 'node:crypto';
import { type Queries, type Statement, unflushed } from '../../db/database.ts';
import { checkBatch, checkInteger, checkName, checkText } from '../values/checks.ts';
import { maxNameLength } from '../values/limits.ts';
import { namesOf } from '../values/tenants.ts';

/** What a worker tells about itself when it connects. */
export interface WorkerIntroduction {
  readonly name: string;
  readonly version?: string | null | undefined;
  readonly types: readonly string[];
  /** How many items of each type it runs at once; empty if it does not say. */
  readonly concurrency: readonly number[];
}

export interface Worker {
  readonly name: string;
  readonly version: string | null;
  readonly types: readonly string[];
  readonly concurrency: readonly number[];
  /** Null if it is connected to no server. */
  readonly connectedAt: Date | null;
  readonly seenAt: Date;
  readonly holds: readonly { readonly type: string; readonly count: number }[];
}

/** At most this many are listed. */
const mostWorkers = 10_000;
const maxConcurrency = 10_000;

export function checkIntroduction(worker: WorkerIntroduction): WorkerIntroduction {
  checkName(worker.name, 'worker.name', maxNameLength);
  if (worker.version != null) checkText(worker.version, 'worker.version', maxNameLength);
  if (worker.concurrency.length > 0) checkBatch(worker.concurrency.length, 'worker.concurrency');
  for (const [i, count] of worker.concurrency.entries())
    checkInteger(count, `worker.concurrency[${i}]`, 1, maxConcurrency);
  return worker;
}

/** Part of a query: who is connected to this server, and to others that have said so of late. */
const connected = (serverId: string, own: string, condition: string) => `connected as (
               select w.name, w.version, w.types, w.concurrency, clock_timestamp() - w."connectedMs" * interval '1 ms' as connected_at,
                 clock_timestamp() as seen_at
               from json_to_recordset(${own}::json) w(name text, version text, types text[], concurrency int[], "connectedMs" bigint)
               union all
               select w.name, w.version, w.types, w.concurrency, w.connected_at, w.seen_at
               from jobtree.worker w
               where w.server_id <> ${serverId} and w.seen_at > clock_timestamp() - interval '30 seconds' and ${condition}
             )`;

/** Part of a query: the leases with open items, of these jobs if they are not too many. */
export const liveLeases = (fewJobs: string) => `few as (
               select ${fewJobs} as jobs
             ), live as (
               select l.* from few f
               cross join lateral unnest(f.jobs) u(job_id)
               cross join lateral (
                 select l.* from jobtree.lease l where l.job_id = u.job_id and l.check_at is not null offset 0
               ) l
               union all
               select l.* from jobtree.lease l where l.check_at is not null and (select f.jobs is null from few f)
             )`;

/** Replaces the list of a server, and removes those of servers that have sent none for a minute. The commit does not wait for the disk. */
export const recordWorkers: Statement = {
  name: 'note_workers',
  first: `gone as (
    delete from jobtree.worker w
    where w.server_id = $1 and w.name <> all (array(select o ->> 'name' from json_array_elements($2::json) o))
  ), outdated as (
    delete from jobtree.worker w
    where w.ctid = any (array(
      select o.ctid from jobtree.worker o
      where o.server_id <> $1 and o.seen_at < now() - interval '1 minute' for update skip locked
    ))
  )`,
  text: `insert into jobtree.worker (server_id, name, version, types, concurrency, connected_at, seen_at)
    select $1, w.name, w.version, w.types, w.concurrency, now() - w."connectedMs" * interval '1 millisecond', now()
    from json_to_recordset($2::json) w(name text, version text, types text[], concurrency integer[], "connectedMs" bigint)
    where ${unflushed}
    on conflict on constraint worker_pkey do update
    set version = excluded.version, types = excluded.types, concurrency = excluded.concurrency, seen_at = excluded.seen_at`,
};

export class Workers {
  readonly #serverId = randomUUID();
  readonly #connected = new Map<object, { introduction: WorkerIntroduction; since: number }>();
  #isNoted = false;

  /** Registers a connected worker, until the returned function is called. */
  join(introduction: WorkerIntroduction): () => void {
    const key = {};
    if (this.#connected.size < mostWorkers)
      this.#connected.set(key, { introduction, since: performance.now() });
    return () => this.#connected.delete(key);
  }

  get count(): number {
    return this.#connected.size;
  }

  /** Writes who is connected. */
  async save(database: Queries): Promise<void> {
    if (this.#connected.size === 0 && !this.#isNoted) return;
    this.#isNoted = this.#connected.size > 0;
    await database.call(recordWorkers, this.#serverId, JSON.stringify(this.#rows()));
  }

  /** Lists workers by name, starting after `after`; only those of `tenant`, unless that is null. */
  async read(
    database: Queries,
    {
      tenant = null,
      types,
      after,
      take,
    }: { tenant?: string | null; types: readonly string[] | null; after: string | null; take: number },
  ): Promise<Worker[]> {
    const { from, until } = namesOf(tenant);
    const isOfTenant = (name: string) => (tenant === null ? 'true' : `${name} > $7 and ${name} < $8`);
    const { rows } = await database.pool.query<Worker>({
      name: `read_workers/${tenant === null ? 'all' : 'tenant'}`,
      text: `with ${connected('$4', '$5', isOfTenant('w.name'))}, latest as (
               select distinct on (c.name) c.* from connected c
               where ($1::text[] is null or c.types && $1) and ($2::text is null or c.name > $2)
                 and ${isOfTenant('c.name')}
               order by c.name, c.connected_at desc
             ), ${liveLeases('jobtree.few_jobs(null, $6)')}, held as (
               select h.worker as name, max(h.seen_at) as seen_at, json_agg(json_build_object('type', h.type, 'count', h.items) order by h.type) as holds
               from (
                 select l.worker, j.type, sum(bit_count(l.open))::integer as items, max(l.heartbeat_at) as seen_at
                 from live l
                 join jobtree.job j on j.id = l.job_id
                 where ($2::text is null or l.worker > $2)
                   and ${isOfTenant('l.worker')}
                 group by l.worker, j.type
               ) h
               group by h.worker
               having $1::text[] is null or bool_or(h.type = any ($1)) or h.worker in (select c.name from latest c)
             )
             select name, c.version, coalesce(c.types, '{}') as types, coalesce(c.concurrency, '{}') as concurrency,
               c.connected_at::timestamptz(3) as "connectedAt", greatest(c.seen_at, h.seen_at)::timestamptz(3) as "seenAt",
               coalesce(h.holds, '[]') as holds
             from latest c full join held h using (name)
             order by name
             limit $3`,
      values: [
        types,
        after,
        take,
        this.#serverId,
        JSON.stringify(this.#rows()),
        tenant === null ? null : tenant,
        ...(tenant === null ? [] : [from, until]),
      ],
    });
    return rows;
  }

  /** How many connected workers handle each type, and how many of its items they run at once: null if one did not say. None for a type without workers. */
  async readPlaces(
    database: Queries,
    types: readonly string[],
  ): Promise<Map<string, { readonly workers: number; readonly places: number | null }>> {
    const { rows } = await database.pool.query<{ type: string; workers: number; places: number | null }>({
      name: 'read_places',
      text: `with ${connected('$2', '$3', 'w.types && $1')}
             select t.type, count(distinct c.name)::int as workers,
               case when bool_and(cardinality(c.concurrency) > 0) then sum(c.concurrency[t.n])::int end as places
             from connected c
             cross join lateral unnest(c.types) with ordinality t(type, n)
             where t.type = any ($1)
             group by t.type`,
      values: [types, this.#serverId, JSON.stringify(this.#rows())],
    });
    return new Map(rows.map(({ type, ...places }) => [type, places]));
  }

  /** If two connections have the same name, the later one counts. */
  #rows() {
    const rows = new Map<string, object>();
    for (const { introduction, since } of this.#connected.values()) {
      const { name, version = null, types, concurrency } = introduction;
      const connectedMs = Math.round(performance.now() - since);
      rows.set(name, { name, version, types, concurrency, connectedMs });
    }
    return [...rows.values()];
  }
}
