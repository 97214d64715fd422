/** An idle worker that notes when its handler starts. */
import { run } from 'graphile-worker';
import { Worker } from '../../../dist/client/index.js';
import { readTask, serve } from '../child.ts';
import { silent } from '../graphile.ts';
import { type Payload, result } from '../payload.ts';
import type { WakeTask } from '../task.ts';

const { contender, url, type } = readTask<WakeTask>();
const concurrency = 4;
const startedAt: number[] = [];
let expected = Number.POSITIVE_INFINITY;
let onExpected = () => {};

function handle(payload: unknown) {
  startedAt[(payload as Payload).number] = performance.timeOrigin + performance.now();
  if (startedAt.length === expected) onExpected();
  return result(payload as Payload);
}

if (contender === 'jobtree') {
  const worker = new Worker({
    url,
    types: { [type]: { concurrency, handler: async (payload) => handle(payload) } },
  });
  await worker.start();
} else {
  await run({
    connectionString: url,
    logger: silent,
    noHandleSignals: true,
    concurrency,
    taskList: { [type]: async (payload) => void handle(payload) },
  });
}

const methods = {
  /** When each of these items was given to the handler, by number. */
  startedAt: async (items: number): Promise<number[]> => {
    if (startedAt.length < items) {
      await new Promise<void>((resolve) => {
        expected = items;
        onExpected = resolve;
      });
    }
    return startedAt;
  },
};

export type SleeperMethods = typeof methods;

serve(methods);
