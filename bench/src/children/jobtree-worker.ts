/** Works with jobtree's Worker, in one process, over its WebSocket. */
import { Worker } from '../../../dist/client/index.js';
import { finish, readTask, workUntilStopped } from '../child.ts';
import { type Payload, result } from '../payload.ts';
import type { WorkerTask } from '../task.ts';

const { url, target, items, batch } = readTask<WorkerTask>();
let start = 0;
let done = 0;
let cpu = process.cpuUsage();

// It has two exchanges under way, of half its concurrency each.
const concurrency = batch === 1 ? 1 : 2 * batch;
const worker = new Worker({
  url,
  types: {
    [target]: {
      concurrency,
      handler: async (payload) => {
        if (start === 0) {
          start = performance.now();
          cpu = process.cpuUsage();
        }
        return result(payload as Payload);
      },
    },
  },
});
// When the server has acknowledged the result.
worker.on('succeeded', () => {
  done++;
  if (done !== items) return;
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  void worker.stop().then(() => finish({ items: done, ms, cpuMs: (user + system) / 1000 }));
});
await worker.start();
if (items === undefined)
  workUntilStopped(
    () => done,
    () => worker.stop(),
  );
