/** Adds items one after the other, with pauses, for an idle worker. */
import { setTimeout as delay } from 'node:timers/promises';
import { makeWorkerUtils } from 'graphile-worker';
import { createClient } from '../../../dist/client/index.js';
import { readTask, serve } from '../child.ts';
import { silent } from '../graphile.ts';
import { payload } from '../payload.ts';
import type { WakeTask } from '../task.ts';

const task = readTask<WakeTask>();
const pauseMs = { least: 20, most: 60 };
const now = () => performance.timeOrigin + performance.now();
const add = await connect();
let number = 0;

async function connect(): Promise<(payload: unknown) => Promise<unknown>> {
  if (task.contender === 'jobtree') {
    const client = createClient({ url: task.url });
    return (payload) => client.addItems(task.job, [{ payload }]);
  }
  const utils = await makeWorkerUtils({ connectionString: task.url, logger: silent });
  return (payload) => utils.addJob(task.type, payload);
}

const methods = {
  add: async (samples: number) => {
    const times = [];
    for (let i = 0; i < samples; i++) {
      await delay(pauseMs.least + Math.random() * (pauseMs.most - pauseMs.least));
      const sentAt = now();
      await add(payload(number++));
      times.push({ sentAt, answeredAt: now() });
    }
    return times;
  },
};

export type AdderMethods = typeof methods;

serve(methods);
