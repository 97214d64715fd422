/** What it costs to do all of something, by how much of it there is: twice as much must cost twice as much. */
import type pg from 'pg';
import { migrate } from '../../../dist/db/migrate.js';
import type { Bench, Report } from '../bench.ts';
import { type Table, whole } from '../figures.ts';
import { cpuMs } from '../usage.ts';
import { atMost, type Verdict } from '../verdicts.ts';

const sizes = [31_250, 62_500, 125_000, 250_000, 500_000, 1_000_000];
/** So much more may four times as many cost: a single doubling varies by a fifth, with what is in the processor's caches. */
const mostGrowth = 6;
/** What costs less is not compared: ticks of the clock and a vacuum count for too much. */
const leastMs = 500;

/** A job whose items are the heads of as many serialize keys, and one whose items are blocked behind these. */
const fillKeyed = `
  with jobs as materialized (
    select (select t.job_id from jobtree.create_job('{"type": "head"}') t) as head_id,
      (select t.job_id from jobtree.create_job('{"type": "behind"}') t) as behind_id
  ), block as materialized (
    select nextval('jobtree.block_seq') * 1024 as position from generate_series(1, ceil($1 / 1000.0)::int)
  ), one as materialized (
    select j.*, b.position + i as position, j.head_id || ' ' || b.position + i as key
    from jobs j cross join block b cross join generate_series(0, 999) i
    limit $1
  ), items as (
    insert into jobtree.job_item (job_id, position, created_at, payload_bytes, payload, serialize_key)
    select u.job_id, o.position, now(), 1, '1', o.key from one o cross join lateral unnest(array[o.head_id, o.behind_id]) u(job_id)
  ), keys as (
    insert into jobtree.serialize_key (key, job_id, position) select o.key, o.head_id, o.position from one o
  ), entries as (
    insert into jobtree.queue_entry (job_id, position, place, count, type, priority, attempt, bytes, keyed)
    select o.head_id, o.position, o.position, 1, 'head', 0, 1, 1, true from one o
  ), blocked as (
    insert into jobtree.blocked_item (key, job_id, position, type, priority, attempt)
    select o.key, o.behind_id, o.position, 'behind', 0, 1 from one o
  ), deltas as (
    insert into jobtree.progress_delta (root_id, job_id, items) select u.id, u.id, $1 from jobs j cross join unnest(array[j.head_id, j.behind_id]) u(id)
  )
  select j.head_id as id from jobs j`;

const fillDue = `
  with job as materialized (
    select t.job_id as id from jobtree.create_job('{"type": "due"}') t
  ), block as materialized (
    select nextval('jobtree.block_seq') * 1024 as position from generate_series(1, ceil($1 / 1000.0)::int)
  ), entries as (
    insert into jobtree.queue_entry (job_id, position, place, count, type, priority, attempt, bytes, run_at)
    select j.id, b.position + i, b.position + i, 1, 'due', 0, 1, 1, now() - interval '1 s'
    from job j cross join block b cross join generate_series(0, 999) i
    limit $1
  )
  select j.id from job j`;

/** Trees of one job, which are complete once these deltas are counted. */
const fillDone = `
  with tree as materialized (
    select jobtree.new_id() as id from generate_series(1, $1)
  ), jobs as (
    insert into jobtree.job (
      id, root_id, depth, type, priority, max_failures_per_item, backoff_ms, backoff_jitter, heartbeat_interval_ms, final_stage, feeds_children,
      created_at, sealed_at
    )
    select t.id, t.id, 0, 'done', 0, 3, '{0}', 0, 60000, true, false, now(), now() from tree t
  ), trees as (
    insert into jobtree.tree (root_id) select t.id from tree t
  ), progress as (
    insert into jobtree.job_progress (job_id, version, is_root, open_jobs, item_count) select t.id, 0, true, 1, 1 from tree t
  ), deltas as (
    insert into jobtree.progress_delta (root_id, job_id, succeeded) select t.id, t.id, 1 from tree t
  )
  select t.id from tree t limit 1`;

interface Drain {
  readonly name: string;
  /** Makes a job and gives its id. Default: goes on with the job of the one before. */
  readonly fill?: string;
  /** Called with what the call before returned as `next`, first with an empty text, until that is null. */
  readonly step: (id: string, next: string) => string;
}

/** In the order in which one needs the other. */
const drains: readonly Drain[] = [
  {
    name: 'fold_trees: completes trees',
    fill: fillDone,
    step: (_, next) => `
      with thousand as materialized (
        select d.id, d.root_id from jobtree.progress_delta d where d.id > ${next || 0} order by d.id limit 1000
      )
      select (select max(s.id)::text from thousand s) as next
      from (select count(*) from jobtree.fold_trees(array(select s.root_id from thousand s), array(select 0::bigint from thousand s))) f`,
  },
  {
    name: 'promote_due: makes items ready',
    fill: fillDue,
    step: () => `select case when p.more then 'on' end as next from jobtree.promote_due() p`,
  },
  {
    name: 'cancel_job and its steps: heads of serialize keys',
    fill: fillKeyed,
    step: (id, next) =>
      next === ''
        ? `select '0' as next from jobtree.cancel_job('${id}')`
        : `select case when not c.done then c.next_from end as next from jobtree.cancel_items('${id}', ${next}) c`,
  },
  {
    name: 'promote_blocked: passes their keys on',
    step: (_, next) => `select p.next_from as next from jobtree.promote_blocked('${next}') p`,
  },
  {
    name: 'delete_trees: deletes them',
    step: (id, next) =>
      next === ''
        ? `select 'on' as next from (select jobtree.delete_job('${id}'), jobtree.fold_trees(array['${id}'::uuid], array[0]) offset 0) d`
        : `select case when not d then 'on' end as next from jobtree.delete_trees(array['${id}'::uuid]) d`,
  },
];

export async function measureDrains({ postgres }: Bench): Promise<Report> {
  const found = new Map<string, number[]>(drains.map(({ name }) => [name, []]));
  for (const size of sizes) {
    const database = await postgres.createDatabase('bench_drains');
    await migrate({ url: database.url });
    const client = await database.pool.connect();
    let id: string | undefined;
    for (const { name, fill, step } of drains) {
      if (fill !== undefined) id = (await client.query(fill, [size])).rows[0].id;
      await database.pool.query('vacuum analyze');
      await database.settle();
      found.get(name)?.push(await drain(client, id as string, step));
    }
    const { rowCount } = await client.query('select from jobtree.job where id = $1', [id]);
    if (rowCount !== 0) throw new Error('The job was not deleted to the end.');
    client.release();
    await database.drop();
  }
  return report(found);
}

/** The CPU time of the session's backend; elsewhere than on Linux, the time that it took. */
async function drain(client: pg.PoolClient, id: string, step: Drain['step']): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const now = () => cpuMs(rows[0]?.pid ?? 0) ?? performance.now();
  const startedAt = now();
  let next: string | null = '';
  while (next !== null) {
    const { rows: answers }: pg.QueryResult<{ next: string | null }> = await client.query(step(id, next));
    next = answers[0]?.next ?? null;
  }
  return now() - startedAt;
}

function report(found: ReadonlyMap<string, readonly number[]>): Report {
  const verdicts: Verdict[] = [];
  const rows: string[][] = [];
  for (const [name, times] of found) {
    const growths = times.slice(2).map((ms, i) => ms / Math.max(times[i] ?? Number.NaN, leastMs));
    rows.push([name, ...times.map(whole)]);
    verdicts.push(
      atMost({
        name: `${name}, four times as many up to ${whole(sizes.at(-1) as number)}`,
        limit: mostGrowth,
        found: Math.max(...growths),
        unit: ' times',
      }),
    );
  }
  const table: Table = {
    title: 'growth: CPU of Postgres in milliseconds for all of them, by their number',
    columns: ['', ...sizes.map(whole)],
    rows,
    note: 'Linear: twice as many cost about twice as much.',
  };
  return { tables: [table], verdicts, figures: { sizes, cpuMs: Object.fromEntries(found) } };
}
