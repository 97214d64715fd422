/** Adds items over HTTP, with the client. */
import { createClient } from '../../../dist/client/index.js';
import { finish, readTask } from '../child.ts';
import { inFlight } from '../in-flight.ts';
import { payloads } from '../payload.ts';
import type { ProducerTask } from '../task.ts';

const { url, target, items, batch, width } = readTask<ProducerTask>();
const client = createClient({ url });
const batches = Array.from({ length: items / batch }, (_, i) =>
  payloads(batch, i * batch).map((payload) => ({ payload })),
);
await client.job(target);

const cpu = process.cpuUsage();
const start = performance.now();
await inFlight(batches.length, width, (i) => client.addItems(target, batches[i] ?? []));
const ms = performance.now() - start;
const { user, system } = process.cpuUsage(cpu);
await client.close();
finish({ items, ms, cpuMs: (user + system) / 1000 });
