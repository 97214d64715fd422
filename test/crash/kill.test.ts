/**
 * The whole of it on real input while processes are killed: rows of a CSV imported by the command line, four worker
 * processes, `kill -9` for one of them, then for the server, mid-run; both are started again. Every item succeeds once, none
 * is lost. `CRASH_ROWS` makes it larger.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createJob, request } from '../support/api.ts';
import { cli, freePort, type ServerProcess, startServerProcess } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const rows = Number(process.env.CRASH_ROWS ?? 3_000);
const workerScript = fileURLToPath(new URL('../support/crash-worker.ts', import.meta.url));
const type = 'crash';

const db = useDatabase();
let folder: string;
let server: ServerProcess;
const workers: ChildProcess[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jobtree-crash-'));
});
afterAll(async () => {
  for (const worker of workers) await end(worker, 'SIGTERM');
  await server.end();
  await rm(folder, { recursive: true });
});

function startWorker(): ChildProcess {
  const log = join(folder, `worker-${workers.length}.log`);
  const worker = spawn(process.execPath, ['--import', 'tsx', workerScript, server.url, type, log], {
    stdio: 'inherit',
  });
  workers.push(worker);
  return worker;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}

/** Resolves once so many items succeeded. */
async function succeeded(count: number): Promise<void> {
  for (;;) {
    const [row] = await db.query<{ count: number }>(
      'select count(*)::int as count from jobtree.outcome where not failed',
    );
    if ((row?.count ?? 0) >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

it(`${rows} rows, a worker and the server killed: every item succeeds once, none is lost`, async () => {
  const port = String(await freePort());
  server = await startServerProcess(db.url, { JOBTREE_PORT: port, JOBTREE_LOG_LEVEL: 'warn' });
  const csv = join(folder, 'rows.csv');
  await writeFile(
    csv,
    `row,text\n${Array.from({ length: rows }, (_, i) => `${i},"row, ${i}"`).join('\n')}\n`,
  );
  const job = await createJob(server.url, {
    type,
    // On a busy machine holds are lost that nobody left: that costs time, and no item.
    heartbeatIntervalMs: 2_000,
    maxFailuresPerItem: 100,
    backoffMs: [0],
    finalStage: true,
  });

  const importing = promisify(execFile)(process.execPath, [
    cli,
    'import',
    csv,
    '--job',
    job,
    '--url',
    server.url,
  ]);
  const [victim] = [startWorker(), startWorker(), startWorker(), startWorker()];
  await succeeded(Math.floor(rows * 0.2));
  await end(victim as ChildProcess, 'SIGKILL');
  await importing;
  await succeeded(Math.floor(rows * 0.5));
  await server.end('SIGKILL');
  server = await startServerProcess(db.url, { JOBTREE_PORT: port, JOBTREE_LOG_LEVEL: 'warn' });
  startWorker();

  const { stdout } = await promisify(execFile)(process.execPath, [
    cli,
    'watch',
    job,
    '--url',
    server.url,
    '--json',
  ]);
  expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? '')).toBeTypeOf('object');

  const answer = await request(
    server.url,
    `query ($id: ID!) { job(id: $id) { progress { status itemCount itemProgress succeeded failed cancelled percent } } }`,
    { id: job },
  );
  expect(answer.data.job.progress).toEqual({
    status: 'COMPLETED',
    itemCount: rows,
    itemProgress: rows,
    succeeded: rows,
    failed: 0,
    cancelled: 0,
    percent: 100,
  });
  const [books] = await db.query(
    `select count(*)::int as items,
       count(distinct i.payload ->> 'row')::int as rows,
       count(*) filter (where not o.failed and (o.result ->> 'square')::numeric = (i.payload ->> 'row')::numeric ^ 2)::int as right_results,
       (select count(*)::int from jobtree.queue_entry) as waiting,
       (select coalesce(sum(bit_count(open)), 0)::int from jobtree.lease) as held
     from jobtree.job_item i left join jobtree.outcome o on o.job_id = i.job_id and o.position = i.position`,
  );
  expect(books).toEqual({ items: rows, rows, right_results: rows, waiting: 0, held: 0 });

  const logs = await Promise.all(
    workers.map((_, i) => readFile(join(folder, `worker-${i}.log`), 'utf8').catch(() => '')),
  );
  const executions = logs.join('').trim().split('\n').length;
  const [lost] = await db.query<{ count: number }>(
    'select count(*)::int as count from jobtree.failure where lost',
  );
  console.log(
    `${rows} items, ${executions - rows} worked on twice, ${lost?.count} assignments lost and taken back`,
  );
  expect(new Set(logs.join('').trim().split('\n')).size).toBe(rows);
}, 600_000);
