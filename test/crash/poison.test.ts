/**
 * An item that ends the process of its worker, among others that share it, some of them with serialize keys, while workers are also killed
 * from outside: the poison fails for good in bounded tries, and nothing else fails.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { eventually } from '../support/eventually.ts';
import { useServer } from '../support/use-server.ts';

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const languages: [string, string[]][] = [
  ['TypeScript', [process.execPath, '--import', 'tsx', file('../support/poisoned-worker.ts')]],
  ['Python', ['python3', file('../support/poisoned_worker.py')]],
];

const { db, app } = useServer();
const workers = new Set<ChildProcess>();
let isOver = false;

/** As a supervisor does: a worker that ends is started again. */
function keepRunning(program: string, words: readonly string[]): void {
  const worker = spawn(program, words, { stdio: 'inherit' });
  workers.add(worker);
  worker.once('exit', () => {
    workers.delete(worker);
    if (!isOver) keepRunning(program, words);
  });
}

async function endAll(): Promise<void> {
  isOver = true;
  await Promise.all(
    [...workers].map(async (worker) => {
      const exit = once(worker, 'exit');
      worker.kill('SIGKILL');
      await exit;
    }),
  );
  isOver = false;
}

it.each(languages)(
  'poison takes no other item with it: %s',
  async (language, [program = '', ...words]) => {
    const [plain, keyed] = [`${language} plain`, `${language} keyed`];
    const client = createClient({ url: app.url });
    const policies = { sealed: true, heartbeatIntervalMs: 1_000, maxFailuresPerItem: 1, backoffMs: [0] };
    const numbers = Array.from({ length: 60 }, (_, n) => n);
    // The neighbours of the poison have begun when it ends the process.
    const poisoned = numbers.map((n) => ({ payload: { n, ms: 20, ...(n === 7 && { poison: true }) } }));
    const innocent = numbers.map((n) => ({ payload: { n, ms: 20 }, serializeKey: `${language} ${n % 6}` }));
    const jobs = [
      await client.createJob({ type: plain, items: poisoned, ...policies }),
      await client.createJob({ type: keyed, items: innocent, ...policies }),
    ];
    const ids = jobs.map(({ id }) => id.slice(4));
    try {
      for (let n = 0; n < 2; n++) keepRunning(program, [...words, app.url, plain, keyed]);
      // Whoever has items at that moment loses them, whatever these are.
      await eventually(async () => {
        const [row] = await db.query<{ lost: boolean }>(
          'select exists (select from jobtree.failure where lost and job_id = any ($1)) as lost',
          [ids],
        );
        expect(row?.lost).toBe(true);
      });
      for (const worker of [...workers]) worker.kill('SIGKILL');
      await allEnded(ids);
    } finally {
      await endAll();
      await client.close();
    }
    expect(await failedItems(ids)).toEqual([{ n: 7, tries: 5 }]);
  },
  300_000,
);

it.each(languages)(
  'several poisons at once fail for good, and cost no attempt of an item that was not started: %s',
  async (language, [program = '', ...words]) => {
    const type = `${language} quick`;
    const client = createClient({ url: app.url });
    const poisons = [57, 333];
    // Quick items are claimed far ahead of their handlers.
    const items = Array.from({ length: 400 }, (_, n) => ({
      payload: { n, ms: 0, ...(poisons.includes(n) && { poison: true }) },
    }));
    const job = await client.createJob({
      type,
      items,
      sealed: true,
      heartbeatIntervalMs: 1_000,
      maxFailuresPerItem: 1,
      backoffMs: [0],
    });
    const ids = [job.id.slice(4)];
    try {
      keepRunning(program, [...words, app.url, type]);
      await allEnded(ids);
    } finally {
      await endAll();
      await client.close();
    }
    expect(await failedItems(ids)).toEqual(poisons.map((n) => ({ n, tries: 5 })));
    const [innocent] = await db.query<{ waiting: number; started: number }>(
      `select count(*) filter (where waits)::int as waiting, count(*) filter (where not waits)::int as started
       from jobtree.failure f
       join jobtree.job_item i on i.job_id = f.job_id and i.position = f.position
       left join jobtree.lease l on l.id = f.lease_id
       cross join lateral (select coalesce(get_bit(l.waiting, (f.position - l.position)::int) = 1, false) as waits) w
       where f.job_id = any ($1) and i.payload -> 'poison' is null`,
      [ids],
    );
    // What the worker had told to be waiting for a handler costs nothing.
    expect(innocent?.waiting).toBe(0);
    // Each poison is tried twice before it is tried alone, beside those that were running, or just about to, and those of which the report was
    // on its way: at most twenty. Without marks of what has started it was 612 in all.
    expect(innocent?.started).toBeLessThanOrEqual(poisons.length * 2 * 20);
  },
  300_000,
);

/** Each death of a worker takes as long as a lease, and the start of the next. */
const patienceMs = 240_000;

async function allEnded(jobIds: readonly string[]): Promise<void> {
  const check = async () => {
    const rows = await db.query<{ open: number }>(
      `select count(*)::int as open from jobtree.job_item i
       where i.job_id = any ($1) and not exists (select from jobtree.outcome o where o.job_id = i.job_id and o.position = i.position)`,
      [jobIds],
    );
    expect(rows).toEqual([{ open: 0 }]);
  };
  await vi.waitFor(check, { timeout: patienceMs, interval: 100 });
}

/** Those that failed for good, and how often. */
function failedItems(jobIds: readonly string[]) {
  return db.query<{ n: number; tries: number }>(
    `select (i.payload ->> 'n')::int as n, (select count(*)::int from jobtree.failure f where f.job_id = i.job_id and f.position = i.position) as tries
     from jobtree.outcome o join jobtree.job_item i on i.job_id = o.job_id and i.position = o.position
     where o.failed and o.job_id = any ($1)
     order by n`,
    [jobIds],
  );
}
