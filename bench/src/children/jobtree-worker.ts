/** Works with jobtree's Worker, in one process, over its WebSocket. */
import { setTimeout as delay } from 'node:timers/promises';
import { createClient, type Handler, Worker } from '../../../dist/client/index.js';
import { finish, readTask, workUntilStopped } from '../child.ts';
import { type Payload, result } from '../payload.ts';
import type { WorkerTask } from '../task.ts';

const task = readTask<WorkerTask>();
const { url, token, items, handlerMs, failEvery, claimAhead } = task;
// The worker claims ahead what its handlers can begin in a moment, and has two exchanges in flight, each for half of all that.
const { concurrency = task.batch } = task;
let start = 0;
let done = 0;
let cpu = process.cpuUsage();

const handler: Handler = async (payload, { attempt }) => {
  if (start === 0) {
    start = performance.now();
    cpu = process.cpuUsage();
  }
  if (handlerMs !== undefined) await delay(handlerMs);
  if (failEvery !== undefined && attempt === 1 && (payload as Payload).number % failEvery === 0) {
    throw new Error('The first attempt fails.');
  }
  return result(payload as Payload);
};
const types = [task.target, ...(task.laterTargets ?? [])];
const worker = new Worker({
  client: createClient({ url, token }),
  types: Object.fromEntries(types.map((type) => [type, { concurrency, claimAhead, handler }])),
});
// Emitted when the server has acknowledged the result.
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
