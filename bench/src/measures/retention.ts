/** How long it takes to reap a large tree, what that costs workers of another type meanwhile, and how large the tables are afterwards. */
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { type Bench, type Report, withJobtree } from '../bench.ts';
import { ratio, whole } from '../figures.ts';
import { inFlight } from '../in-flight.ts';
import { keyOf, newType, withClient } from '../jobtree.ts';
import { ratesDuring } from '../rates.ts';
import { atLeast } from '../verdicts.ts';

const batch = 100;
const itemsPerUnit = 10;
/** How many times more items are processed than reaped, so that the work outlasts the measurement. */
const workedPerItem = 7;
/** For measuring the rate without reaping, before and after it. */
const quietMs = 15_000;
const pollMs = 100;
const limits = { rate: 0.9 };
const itemsPerBlock = 1_000;
const itemsPerLease = 125;
const blocksPerCall = 20;

/** $1 is the job, $2 how many blocks of items to add, as workers would have left them, with the delta from which a fold counts them. */
const fillFinished = `
  with block as materialized (
    select nextval('jobtree.block_seq') * 1024 as position from generate_series(1, $2::int)
  ), held as materialized (
    select b.position + n * ${itemsPerLease} as position, jobtree.new_lease_id(jobtree.new_id()) as id
    from block b
    cross join generate_series(0, ${itemsPerBlock / itemsPerLease - 1}) n
  ), leases as (
    insert into jobtree.lease (id, job_id, position, claimed_at, heartbeat_at, attempt, count, priority, open, worker)
    select id, $1, position, now(), now(), 1, ${itemsPerLease}, 0, 0::bit(128), 'bench' from held
  ), items as (
    insert into jobtree.job_item (job_id, position, created_at, payload_bytes, payload)
    select $1, h.position + i, now(), length(p.payload), p.payload::json
    from held h
    cross join generate_series(0, ${itemsPerLease - 1}) i
    cross join lateral (
      select json_build_object(
        'number', i, 'name', 'Item ' || i, 'text', repeat('Lorem ipsum dolor sit amet, consectetur. ', 4)
      )::text as payload
    ) p
  ), outcomes as (
    insert into jobtree.outcome (job_id, position, lease_id, finished_at, result)
    select $1, h.position + i, h.id, now(), json_build_object('ok', true, 'number', i)
    from held h
    cross join generate_series(0, ${itemsPerLease - 1}) i
  )
  insert into jobtree.progress_delta (root_id, job_id, items, succeeded, started)
  select $1, $1, $2::int * ${itemsPerBlock}, $2::int * ${itemsPerBlock}, true`;

const tables = ['job_item', 'outcome', 'lease'] as const;

interface Size {
  /** On disk, with indexes. */
  readonly bytes: number;
  readonly rows: number;
}

export async function measureRetention(bench: Bench): Promise<Report> {
  const items = bench.options.items * itemsPerUnit;
  const found = await withJobtree(bench, ({ database, server }) =>
    withClient(server.url, async (client) => {
      const { pool } = database;
      const { id } = await client.createJob({ type: newType(), retentionSeconds: 86_400 });
      const key = keyOf(id);
      await inFlight(Math.ceil(items / itemsPerBlock / blocksPerCall), 2, () =>
        pool.query(fillFinished, [key, blocksPerCall]),
      );
      await client.sealJob(id);
      for await (const { completedAt } of client.watchJob(id)) if (completedAt != null) break;
      let ms = Number.NaN;
      const sizes: { before?: Size[]; after?: Size[] } = {};
      const [before, busy, after] = await ratesDuring({ database, server }, items * workedPerItem, batch, [
        async () => {
          await delay(quietMs);
          sizes.before = await sizesOf(pool, key);
        },
        async () => {
          const startedAt = performance.now();
          await client.setRetention(id, { retentionSeconds: 0 });
          const rest = 'select from jobtree.job where id = $1';
          while ((await pool.query(rest, [key])).rowCount !== 0) await delay(pollMs);
          ms = performance.now() - startedAt;
        },
        async () => {
          sizes.after = await sizesOf(pool, key);
          await delay(quietMs);
        },
      ]);
      return { ms, quiet: ((before as number) + (after as number)) / 2, busy: busy as number, sizes };
    }),
  );
  const { ms, quiet, busy, sizes } = found;
  const times = busy / quiet;
  const size = (some: Size[] | undefined, i: number) => [
    whole(some?.[i]?.rows ?? Number.NaN),
    whole((some?.[i]?.bytes ?? Number.NaN) / 1e6),
  ];
  return {
    tables: [
      {
        title: `retention: a tree of ${whole(items)} items reaped, while items of another type are worked on (batches of ${batch})`,
        columns: ['', 'seconds', 'reaped per second', 'items of the other type per second'],
        rows: [
          ['without reaping', '', '', whole(quiet)],
          ['while it is reaped', whole(ms / 1_000), whole((items * 1_000) / ms), whole(busy)],
          ['ratio', '', '', ratio(times)],
        ],
      },
      {
        title: 'retention: rows of the tree, and the tables with their indexes in MB, all trees together',
        columns: ['', 'rows before', 'MB before', 'rows after', 'MB after'],
        rows: tables.map((table, i) => [table, ...size(sizes.before, i), ...size(sizes.after, i)]),
        note: 'Postgres reuses the space of what is deleted, for what is added meanwhile and later.',
      },
    ],
    verdicts: [
      atLeast({
        name: 'retention, rate of another type against that without',
        limit: limits.rate,
        found: times,
      }),
    ],
    figures: { items, ms, quiet, busy, ratio: times, sizes },
  };
}

async function sizesOf(pool: pg.Pool, jobId: string): Promise<Size[]> {
  const sizes: Size[] = [];
  for (const table of tables) {
    const { rows } = await pool.query<{ bytes: string; rows: string }>(
      `select pg_total_relation_size('jobtree.${table}') as bytes,
         (select count(*) from jobtree.${table} where job_id = $1) as rows`,
      [jobId],
    );
    sizes.push({ bytes: Number(rows[0]?.bytes), rows: Number(rows[0]?.rows) });
  }
  return sizes;
}
