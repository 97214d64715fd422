/** The dashboard in a browser: how fast it opens, whether it scrolls without a jerk, what it holds, and what 50 moving bars cost a server. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../../../test/support/browser.ts';
import { type Bench, type Jobtree, type Report, withJobtree } from '../bench.ts';
import { atEnd } from '../closers.ts';
import { whole } from '../figures.ts';
import { createJobs, fillJob, fillJobs, keyOf, withClient } from '../jobtree.ts';
import { startReporter } from '../reporter.ts';
import { cpuMs } from '../usage.ts';
import { atLeast, atMost } from '../verdicts.ts';

const items = 1_000_000;
const jobs = 20;
const trees = 100_000;
const bars = 50;
const barsPerSecond = 200;
const cpuSeconds = 20;
/** The list is told of changes once a second. */
const movesWithinSeconds = 2;
const opens = 5;
const scrollSeconds = 5;
/** Pages of the list that are loaded before it scrolls. */
const listPages = 20;
/** With all these rows, on the screen or not. */
const heapLimitMb = 10;

/** Trees without items, complete. $1 is how many. */
const fillTrees = `
  with numbered as materialized (
    select ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as id, now() - n * interval '1 s' as at from generate_series(1, $1::int) n
  ), made as (
    insert into jobtree.job (
      id, root_id, depth, type, priority, max_failures_per_item, backoff_ms, backoff_jitter, heartbeat_interval_ms,
      final_stage, feeds_children, created_at, sealed_at
    )
    select id, id, 0, 'listed', 0, 3, '{30000}', 0.1, 60000, true, false, at, at from numbered
  ), trees as (
    insert into jobtree.tree (root_id, completed_at) select id, at from numbered
  )
  insert into jobtree.job_progress (job_id, version, is_root, started_at, completed_at, outcome, tree_outcome, changed_at)
  select id, 1, true, at, at, 'SUCCEEDED', 'SUCCEEDED', at from numbered`;

/** Ends what waits in a job, as a worker would that claims 128 items at a time and fails with one of 500. */
const finish = `
  with ended as (
    delete from jobtree.queue_entry q where q.job_id = $1 returning q.*
  ), leased as materialized (
    select e.*, ('00000000-0000-7000-9000-' || lpad(to_hex(e.position * 256), 12, '0'))::uuid as id from ended e
  ), leases as (
    insert into jobtree.lease (id, job_id, position, claimed_at, heartbeat_at, attempt, count, priority, open, worker)
    select l.id, l.job_id, l.position, now(), now(), 1, l.count, 0, 0::bit(128), 'bench' from leased l
  ), outcomes as (
    insert into jobtree.outcome (job_id, position, lease_id, finished_at, failed, result)
    select l.job_id, l.position + i, l.id, now(), (l.position + i) % 500 = 7, case when (l.position + i) % 500 <> 7 then '1'::json end
    from leased l cross join lateral generate_series(0, l.count - 1) i
    returning failed
  )
  insert into jobtree.progress_delta (root_id, job_id, succeeded, failed, started)
  select $2, $1, count(*) filter (where not o.failed), count(*) filter (where o.failed), true from outcomes o`;

interface Figures {
  /** From the navigation to the first full view, in milliseconds: the median. */
  readonly openMs: number;
  /** Between frames while it scrolls, in milliseconds. */
  readonly frames: { readonly p50: number; readonly p95: number; readonly worst: number };
  /** After the garbage was collected, in MB. */
  readonly heapMb: number;
}

export async function measureDashboard(bench: Bench): Promise<Report> {
  const { list, tree, cpu } = await withJobtree(bench, async (jobtree) => {
    const rootId = await fill(jobtree);
    const browser = await launchBrowser();
    atEnd(() => browser.close());
    const url = new URL('dashboard/', jobtree.server.url).href;
    const list = await look(browser, `${url}#/`, '[role=row] progress, [role=row] .bar', async (page) => {
      for (let pages = 1; pages < listPages; pages++) {
        const more = page.locator('button.more');
        await more.scrollIntoViewIfNeeded();
        await more.click();
        await page.locator(`[aria-rowcount="${(pages + 1) * 100 + 1}"]`).waitFor();
      }
    });
    const tree = await look(browser, `${url}#/trees/${encodeURIComponent(rootId)}`, '.strip canvas');
    const cpu = await measureCpu(jobtree, browser, url);
    await browser.close();
    return { list, tree, cpu };
  });
  const share = (cpu.withPage - cpu.without) * 100;
  const shown = [
    ['the list of trees', list],
    [`the tree of ${whole(items)} items`, tree],
  ] as const;
  return {
    tables: [
      {
        title: `dashboard: ${whole(trees)} trees, and a tree of ${whole(items)} items in ${jobs} jobs`,
        columns: ['', 'opens', 'frame p50', 'p95', 'worst', 'heap'],
        rows: shown.map(([name, { openMs, frames, heapMb }]) => [
          name,
          `${whole(openMs)} ms`,
          `${frames.p50.toFixed(1)} ms`,
          `${frames.p95.toFixed(1)} ms`,
          `${frames.worst.toFixed(1)} ms`,
          `${heapMb.toFixed(1)} MB`,
        ]),
        note: `opens: from the navigation to the first full view, with nothing cached. frame: while it scrolls.`,
      },
      {
        title: `dashboard: a server's CPU while ${bars} bars move, in % of a core`,
        columns: ['without a page', 'with one', 'bars that moved'],
        rows: [
          [`${(cpu.without * 100).toFixed(1)} %`, `${(cpu.withPage * 100).toFixed(1)} %`, whole(cpu.moved)],
        ],
        note: `moved: changed in the page at least every ${movesWithinSeconds} s, on average.`,
      },
    ],
    verdicts: [
      ...shown.flatMap(([name, { openMs, frames, heapMb }]) => [
        atMost({ name: `dashboard: ${name} opens`, limit: 1_000, found: openMs, unit: ' ms', digits: 0 }),
        atMost({
          name: `dashboard: 95 % of the frames of ${name}`,
          limit: 17,
          found: frames.p95,
          unit: ' ms',
        }),
        atMost({ name: `dashboard: the heap of ${name}`, limit: heapLimitMb, found: heapMb, unit: ' MB' }),
      ]),
      atMost({
        name: `dashboard: ${bars} moving bars, of a server's core`,
        limit: 2,
        found: share,
        unit: ' %',
      }),
      atLeast({ name: 'dashboard: bars that moved', limit: bars, found: cpu.moved, digits: 0 }),
    ],
    figures: { list, tree, cpu },
  };
}

/** Makes all trees, and gives the id of the large one. */
async function fill({ database: { pool, settle }, server }: Jobtree): Promise<string> {
  await pool.query(fillTrees, [trees]);
  const ids = await withClient(server.url, async (client) => {
    const root = await client.createJob({
      type: 'million-1',
      children: Array.from({ length: jobs - 1 }, (_, i) => ({ type: `million-${i + 2}` })),
    });
    return [root.id, ...(await client.job(root.id)).children.map(({ id }) => id)];
  });
  const [rootId = ''] = ids;
  for (const [i, id] of ids.entries()) {
    await fillJob(pool, id, items / jobs);
    if (i % 3 !== 2) await pool.query(finish, [keyOf(id), keyOf(rootId)]);
  }
  await pool.query('vacuum analyze');
  await settle();
  return rootId;
}

async function look(
  browser: Browser,
  url: string,
  full: string,
  prepare: (page: Page) => Promise<void> = async () => {},
): Promise<Figures> {
  const times: number[] = [];
  for (let i = 0; i < opens; i++) {
    // Nothing is cached in a new context.
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    await page.goto(url, { waitUntil: 'commit' });
    await page.waitForSelector(full);
    times.push(await page.evaluate(() => performance.now()));
    if (i < opens - 1) {
      await context.close();
      continue;
    }
    await prepare(page);
    const frames = await page.evaluate<number[]>(scroll);
    const session = await context.newCDPSession(page);
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await session.send('Runtime.getHeapUsage');
    await context.close();
    return {
      openMs: quantile(times, 0.5),
      frames: { p50: quantile(frames, 0.5), p95: quantile(frames, 0.95), worst: quantile(frames, 1) },
      heapMb: usedSize / 1_000_000,
    };
  }
  throw new Error('nothing was opened');
}

/** In the page, and as text, since what compiles this file adds to functions: scrolls to and fro, frame by frame, and gives the times between frames. */
const scroll = `new Promise((resolve) => {
  const times = [];
  const until = performance.now() + ${scrollSeconds * 1_000};
  let direction = 1;
  let before = performance.now();
  requestAnimationFrame(function frame(now) {
    times.push(now - before);
    before = now;
    const y = scrollY;
    scrollBy(0, 60 * direction);
    if (scrollY === y) direction = -direction;
    if (now < until) requestAnimationFrame(frame);
    else resolve(times.slice(2));
  });
})`;

/** The server's share of a core while bars move: without a page, and with one that shows them. */
async function measureCpu({ database, server }: Jobtree, browser: Browser, url: string) {
  const moving = await createJobs(server.url, bars);
  const seconds = cpuSeconds * 2 + 30;
  await fillJobs(database.pool, moving.ids, barsPerSecond * seconds);
  const reporter = await startReporter({
    url: server.url,
    target: moving.type,
    batch: bars,
    perSecond: barsPerSecond,
  });
  const share = async () => {
    await delay(3_000);
    const before = cpuMs(server.pid) ?? Number.NaN;
    const from = performance.now();
    await delay(cpuSeconds * 1_000);
    return ((cpuMs(server.pid) ?? Number.NaN) - before) / (performance.now() - from);
  };
  const without = await share();
  const page = await browser.newPage({ viewport: { width: 1280, height: 50 * bars } });
  await page.goto(`${url}#/?types=${moving.type}`);
  await page
    .locator('[role=row] .bar')
    .nth(bars - 1)
    .waitFor();
  await page.evaluate(countMoves);
  const withPage = await share();
  const moves = await page.evaluate<number[]>('[...moves.values()]');
  await page.close();
  await reporter.stop();
  return {
    without,
    withPage,
    moved: moves.filter((count) => count >= cpuSeconds / movesWithinSeconds).length,
  };
}

/** In the page, and as text, as above: counts how often each row's bar changes. */
const countMoves = `
  window.moves = new Map();
  new MutationObserver((changes) => {
    for (const { target } of changes) {
      const row = target.closest('[role=row]').querySelector('a').href;
      moves.set(row, (moves.get(row) ?? 0) + 1);
    }
  }).observe(document.querySelector('[role=table]'), { subtree: true, attributeFilter: ['aria-valuetext'] });
  undefined`;

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
