/** Adds jobs with graphile-worker's own functions: addJobs, and addJob for a single one. */
import { makeWorkerUtils } from 'graphile-worker';
import { finish, readTask } from '../child.ts';
import { silent } from '../graphile.ts';
import { inFlight } from '../in-flight.ts';
import { payload, payloads } from '../payload.ts';
import type { ProducerTask } from '../task.ts';

const { url, target, items, batch, width } = readTask<ProducerTask>();
const utils = await makeWorkerUtils({ connectionString: url, maxPoolSize: width, logger: silent });
const batches = Array.from({ length: items / batch }, (_, i) =>
  payloads(batch, i * batch).map((payload) => ({ identifier: target, payload })),
);
await inFlight(width, width, () => utils.withPgClient((client) => client.query('select pg_sleep(0.05)')));

const cpu = process.cpuUsage();
const start = performance.now();
await inFlight(batches.length, width, (i) =>
  batch === 1 ? utils.addJob(target, payload(i)) : utils.addJobs(batches[i] ?? []),
);
const ms = performance.now() - start;
const { user, system } = process.cpuUsage(cpu);
await utils.release();
finish({ items, ms, cpuMs: (user + system) / 1000 });
