/**
 * What limits cost types without limits: a type at full speed runs beside two slow ones, which are slowed down by the number of
 * their handlers, or by a limit of concurrency and a rate. Also measures whether the limited types get what their limits allow,
 * and what settings of other types cost a type without any.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { readFunctionFiles } from '../../../tools/stored-functions.ts';
import { alternate, type Bench, itemsFor, type Jobtree, type Report, withJobtree } from '../bench.ts';
import { startChild } from '../child.ts';
import { cpu, median, medianRun, type Run, ratio, whole } from '../figures.ts';
import { createJob, fillJob, keyOf, withClient } from '../jobtree.ts';
import { atLeast } from '../verdicts.ts';
import { runWork } from '../worked.ts';

const batch = 100;
const concurrency = 5;
const handlerMs = 500;
const rate = { limit: 100, intervalMs: 1_000 };
/** Gives the same speed without limits. */
const paced = { concurrency: 10, handlerMs: (10 * rate.intervalMs) / rate.limit };
/** More handlers than the limits allow. */
const handlers = 4 * concurrency;
const backlog = 5_000;
const otherTypes = 1_000;
const plainBatch = 10;

/** The function that claims, and the same without its check for limited types, which is all that types without limits pay. */
const claimItems =
  readFunctionFiles(fileURLToPath(new URL('../../../prisma/functions', import.meta.url))).get(
    'claim_items',
  ) ?? '';
const look = /if exists \(\s*select from jobtree\.queue q [^;]*?v_queues := '\{\}';\s*elsif not p_durable/;
const withoutLook = claimItems.replace(look, 'if not p_durable');
if (withoutLook === claimItems) throw new Error('claim_items looks for limited types in another way.');

/** How much of what the limits allow was used, as a share. */
interface Used {
  readonly places: number;
  readonly rate: number;
}

export async function measureLimits(bench: Bench): Promise<Report> {
  const { options } = bench;
  const used: Used[] = [];
  const items = itemsFor(options.items, batch);
  const beside = await withJobtree(bench, (jobtree) =>
    alternate(options, items, {
      free: (items) => runBeside(bench, jobtree, items),
      limited: (items) => runBeside(bench, jobtree, items, used),
    }),
  );
  const plain = await withJobtree(bench, (jobtree) =>
    alternate(options, options.items, {
      before: async (items) => {
        await setOthers(jobtree, false);
        await jobtree.database.pool.query(withoutLook);
        const run = await runWork(bench, jobtree, { items, batch: plainBatch });
        await jobtree.database.pool.query(claimItems);
        return run;
      },
      none: async (items) => {
        await setOthers(jobtree, false);
        return runWork(bench, jobtree, { items, batch: plainBatch });
      },
      others: async (items) => {
        await setOthers(jobtree, true);
        return runWork(bench, jobtree, { items, batch: plainBatch });
      },
    }),
  );
  const [free, limited] = [medianRun(beside.free), medianRun(beside.limited)];
  const [before, none, others] = [medianRun(plain.before), medianRun(plain.none), medianRun(plain.others)];
  const places = median(used.map((one) => one.places));
  const claims = median(used.map((one) => one.rate));
  const row = (name: string, run: Run, to: Run) => [
    name,
    whole(run.perSecond),
    ratio(run.perSecond / to.perSecond),
    cpu(run),
  ];
  return {
    tables: [
      {
        title: `limits: ${whole(items)} items of a type without (batches of ${batch}), beside a limit of ${concurrency} at once and a rate of ${rate.limit} in ${rate.intervalMs} ms`,
        columns: ['', 'items per second', 'ratio', 'CPU'],
        rows: [
          row('beside as much work without limits', free, free),
          row('beside limits', limited, free),
          row(`no look for limits (batches of ${plainBatch})`, before, before),
          row('no settings anywhere', none, before),
          row(`${whole(otherTypes)} other types paused or limited`, others, before),
        ],
        note: `Of what the limits allow, ${ratio(places)} of the places were held and ${ratio(claims)} of the rate was claimed. CPU: microseconds per item of worker + server + Postgres.`,
      },
    ],
    verdicts: [
      atLeast({
        name: 'a type beside limited ones, against the same work without limits',
        limit: 0.95,
        found: limited.perSecond / free.perSecond,
      }),
      atLeast({ name: 'held of a limit of concurrency', limit: 0.95, found: places }),
      atLeast({ name: 'claimed of a rate', limit: 0.95, found: claims }),
      atLeast({
        name: 'no settings anywhere, against claims without a look for limits',
        limit: 0.97,
        found: none.perSecond / before.perSecond,
      }),
      atLeast({
        name: 'a type without settings, other types having some, against the same',
        limit: 0.97,
        found: others.perSecond / before.perSecond,
      }),
    ],
    figures: { items, beside, plain, used },
  };
}

async function setOthers({ database }: Jobtree, limited: boolean): Promise<void> {
  const { rows } = await database.pool.query('select exists (select from jobtree.queue) as limited');
  if (rows[0].limited === limited) return;
  const settings = limited ? { paused: true, concurrency: 5 } : { paused: false, concurrency: null };
  await database.pool.query("select jobtree.set_queue('other ' || n, $1) from generate_series(1, $2) n", [
    JSON.stringify(settings),
    otherTypes,
  ]);
  // Time for the server to hear of it.
  await delay(1_000);
}

/** Runs a job at full speed while two others are processed slowly. With `used`, these two are limited, and what they use is noted. */
async function runBeside(bench: Bench, jobtree: Jobtree, items: number, used?: Used[]): Promise<Run> {
  const { database, server } = jobtree;
  const { pool } = database;
  const slow = await createJob(server.url);
  const rated = await createJob(server.url);
  if (used !== undefined) {
    await withClient(server.url, async ({ queues }) => {
      await queues.set(slow.type, { concurrency });
      await queues.set(rated.type, { rate });
    });
  }
  await fillJob(pool, slow.id, backlog);
  await fillJob(pool, rated.id, backlog);
  const task = { url: server.url, batch: 1 };
  const crews = [
    startChild('jobtree-worker', {
      ...task,
      target: slow.type,
      handlerMs,
      concurrency: used ? handlers : concurrency,
    }),
    startChild('jobtree-worker', {
      ...task,
      target: rated.type,
      ...(used ? { concurrency: handlers } : paced),
    }),
  ];
  for (const { id } of [slow, rated]) while (!(await hasBegun(pool, id))) await delay(50);
  await delay(2 * rate.intervalMs);
  const from = await now(pool);
  const run = await runWork(bench, jobtree, { items, batch });
  const to = await now(pool);
  used?.push({
    places: (await heldMs(pool, slow.id, from, to)) / (concurrency * (to - from)),
    rate: await rateUsed(pool, rated.id, to),
  });
  for (const crew of crews) await crew.stop();
  await withClient(server.url, async (client) => {
    for (const { id, type } of [slow, rated]) {
      await client.cancelJob(id);
      await client.queues.set(type, { concurrency: null, rate: null });
    }
  });
  return run;
}

async function now(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query('select extract(epoch from clock_timestamp())::float8 * 1000 as now');
  return rows[0].now;
}

async function hasBegun(pool: pg.Pool, jobId: string): Promise<boolean> {
  return (
    (await pool.query('select from jobtree.lease where job_id = $1 limit 1', [keyOf(jobId)])).rows.length > 0
  );
}

/** The total time for which workers held items of the job between two instants, in milliseconds. */
async function heldMs(pool: pg.Pool, jobId: string, from: number, to: number): Promise<number> {
  const { rows } = await pool.query(
    `select sum(greatest(0, extract(epoch from least(coalesce(o.finished_at, e.to), e.to) - greatest(a.claimed_at, e.from)))) * 1000 as ms
     from (select to_timestamp($2::float8 / 1000) as from, to_timestamp($3::float8 / 1000) as to) e, jobtree.assignment a
     left join jobtree.outcome o on o.job_id = a.job_id and o.position = a.position
     where a.job_id = $1`,
    [keyOf(jobId), from, to],
  );
  return Number(rows[0].ms);
}

/**
 * How fast items of the job were claimed until an instant, as a share of its rate: the time that the rate allows for the last
 * full intervals of items, divided by the time that their claims took.
 */
async function rateUsed(pool: pg.Pool, jobId: string, to: number): Promise<number> {
  const { rows } = await pool.query(
    `select extract(epoch from l.claimed_at)::float8 * 1000 as at
     from jobtree.lease l cross join generate_series(1, l.count)
     where l.job_id = $1 and l.claimed_at < to_timestamp($2::float8 / 1000)
     order by 1`,
    [keyOf(jobId), to],
  );
  const last = rows.length - 1;
  const intervals = Math.floor(last / rate.limit);
  return (intervals * rate.intervalMs) / (rows[last].at - rows[last - intervals * rate.limit].at);
}
