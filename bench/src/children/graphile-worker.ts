/** Works with graphile-worker in one process. */
import { run } from 'graphile-worker';
import pg from 'pg';
import { finish, readTask, workUntilStopped } from '../child.ts';
import { countJobs, runnerPreset, silent } from '../graphile.ts';
import { type Payload, result } from '../payload.ts';
import type { WorkerTask } from '../task.ts';

const { url, target, items, batch, concurrency } = readTask<WorkerTask>();
// One connection for each of ten jobs without a local queue, one that listens, one that counts.
const pgPool = new pg.Pool({ connectionString: url, max: 12 });
// graphile-worker demands these listeners; a broken connection ends the run anyway.
pgPool.on('error', console.error);
pgPool.on('connect', (client) => void client.on('error', console.error));
let start = 0;
let done = 0;
let cpu = process.cpuUsage();

const runner = await run({
  pgPool,
  logger: silent,
  noHandleSignals: true,
  preset: runnerPreset(batch, concurrency),
  taskList: {
    [target]: async (payload) => {
      if (start === 0) {
        start = performance.now();
        cpu = process.cpuUsage();
      }
      // graphile-worker keeps no results.
      result(payload as Payload);
      done++;
      if (done === items) void untilCompleted();
    },
  },
});
if (items === undefined)
  workUntilStopped(
    () => done,
    () => runner.stop(),
  );

/** The last batch of completions has yet to be written. */
async function untilCompleted(): Promise<void> {
  while ((await countJobs(pgPool)) > 0);
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  finish({ items: done, ms, cpuMs: (user + system) / 1000 });
}
