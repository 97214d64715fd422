/** A worker in a process of its own: `poisoned-worker.ts URL TYPE…`. The payload "poison" ends it. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Handler, Worker } from '../../src/client/index.ts';

const [url = '', ...types] = process.argv.slice(2);
const handler: Handler = async (payload) => {
  // Its neighbours have begun by then.
  await delay(20);
  if (payload === 'poison') process.kill(process.pid, 'SIGKILL');
  return payload;
};
const worker = new Worker({
  url,
  types: Object.fromEntries(types.map((type) => [type, { concurrency: 10, handler }])),
});
await worker.start();
