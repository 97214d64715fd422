/** Creates jobs of one item over HTTP, with the client: one in each call, or many. */
import { createClient } from '../../../dist/client/index.js';
import { finish, readTask } from '../child.ts';
import { inFlight } from '../in-flight.ts';
import { payloads } from '../payload.ts';
import type { ProducerTask } from '../task.ts';

const { url, target, items, batch, width } = readTask<ProducerTask>();
const client = createClient({ url });
const batches = Array.from({ length: items / batch }, (_, i) =>
  payloads(batch, i * batch).map((payload) => ({ type: target, sealed: true, items: [{ payload }] })),
);
await client.jobCount();

const cpu = process.cpuUsage();
const start = performance.now();
await inFlight(batches.length, width, async (i) => {
  const jobs = batches[i] ?? [];
  const [first] = jobs;
  if (jobs.length === 1 && first !== undefined) return client.createJob(first);
  for (const { error } of await client.createJobs(jobs)) if (error !== undefined) throw error;
});
const ms = performance.now() - start;
const { user, system } = process.cpuUsage(cpu);
await client.close();
finish({ items, ms, cpuMs: (user + system) / 1000 });
