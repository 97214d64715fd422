/** A worker in a process of its own: `poisoned-worker.ts URL TYPE…`. A payload {ms, poison?} takes its time; with `poison` it ends the process. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Handler, Worker } from '../../src/client/index.ts';

const [url = '', ...types] = process.argv.slice(2);
const handler: Handler = async (payload) => {
  const { ms, poison } = payload as { readonly ms: number; readonly poison?: true };
  if (ms > 0) await delay(ms);
  if (poison) process.kill(process.pid, 'SIGKILL');
  return payload;
};
const worker = new Worker({
  url,
  types: Object.fromEntries(types.map((type) => [type, { concurrency: 10, handler }])),
});
await worker.start();
