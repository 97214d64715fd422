/** Workers in a process of their own, to be killed: `limited-worker.ts URL COUNT LONGEST_MS TYPE…`. A few of their items fail. */
import { setTimeout as delay } from 'node:timers/promises';
import { createClient, Worker } from '../../src/client/index.ts';

const [url = '', count = '', longestMs = '', ...types] = process.argv.slice(2);
const client = createClient({ url });
const handler = async () => {
  await delay(Math.random() * Number(longestMs));
  if (Math.random() < 0.1) throw new Error('Some fail.');
  return null;
};
const workers = Array.from(
  { length: Number(count) },
  (_, i) =>
    new Worker({
      client,
      name: `${process.pid}-${i}`,
      types: Object.fromEntries(types.map((type) => [type, { concurrency: 3, handler }])),
    }),
);
for (const worker of workers) worker.on('disconnected', () => {});
process.on('SIGTERM', () => {
  void Promise.all(workers.map((worker) => worker.stop()))
    .then(() => client.close())
    .then(() => process.exit(0));
});
await Promise.all(workers.map((worker) => worker.start()));
