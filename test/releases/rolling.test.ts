/** Two servers are replaced one after the other under load: clients, workers and watchers notice nothing that they do not repeat by themselves. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createClient, Worker } from '../../src/client/index.ts';
import type { App } from '../../src/server/create-app.ts';
import { type Balancer, startBalancer } from '../support/balancer.ts';
import { startServer } from '../support/server.ts';
import { until } from '../support/transport.ts';
import { useDatabase } from '../support/use-server.ts';

const watcherCount = 10;
/** So many are done between two changes. */
const between = 30;

const db = useDatabase();
let balancer: Balancer;
const servers: App[] = [];
const portOf = ({ url }: App) => Number(new URL(url).port);
/** Longer than the balancer takes to notice. */
const settings = { JOBTREE_SHUTDOWN_DELAY_MS: '100' };

beforeAll(async () => {
  balancer = await startBalancer();
  for (let i = 0; i < 2; i++) servers.push(await startServer(db.url, settings));
  balancer.ports.push(...servers.map(portOf));
});
afterAll(async () => {
  await balancer?.close();
  await Promise.all(servers.map((server) => server.close()));
});

it('a release rolls over two servers unnoticed', async () => {
  const errors: unknown[] = [];
  /** What clients and workers met, and repeated by themselves. */
  const repeated = new Map<string, number>();
  const onRetry = ({ message }: Error) => repeated.set(message, (repeated.get(message) ?? 0) + 1);
  const producer = createClient({ url: balancer.url, onRetry });
  const { id } = await producer.createJob({ type: 'rolled', maxFailuresPerItem: 0 });
  const workers = Array.from({ length: 2 }, () => {
    const types = { rolled: { concurrency: 3, handler: async () => null } };
    const worker = new Worker({ url: balancer.url, types });
    worker.on('error', (error) => errors.push(error));
    worker.on('disconnected', onRetry); // it comes back by itself
    worker.on('stale', ({ itemId }) => errors.push(`${itemId} was done twice`));
    return worker;
  });
  await Promise.all(workers.map((worker) => worker.start()));
  const known = Array.from({ length: watcherCount }, () => 0);
  const clients = known.map(() => createClient({ url: balancer.url, onRetry }));
  const watching = clients.map(async (client, i) => {
    let last: unknown;
    for await (const state of client.watchJob(id)) {
      if (state.succeeded < (known[i] as number)) errors.push('a step back');
      known[i] = state.succeeded;
      last = state;
    }
    return last;
  });

  let added = 0;
  let over = false;
  const adding = (async () => {
    while (!over) {
      await producer.addItems(id, [{ payload: added, dedupeKey: String(added) }]);
      added++;
      await delay(10); // as fast as it can it only keeps the processor busy
    }
  })().catch((error) => errors.push(error));
  const progress = async () => {
    const goal = added + between;
    await until(
      'everybody is served',
      () => errors.length > 0 || known.every((succeeded) => succeeded > goal),
    );
    expect(errors).toEqual([]);
  };

  await progress();
  for (const [i, old] of [...servers].entries()) {
    const fresh = await startServer(db.url, settings);
    servers.push(fresh);
    balancer.ports.push(portOf(fresh));
    await progress();
    // It still serves what it has, and the balancer may still send it something.
    const closing = old.close();
    await progress();
    balancer.ports.splice(balancer.ports.indexOf(portOf(old)), 1);
    await closing;
    servers.splice(servers.indexOf(old), 1);
    await progress();
    expect(i).toBeLessThan(2);
  }
  over = true;
  await adding;
  await producer.sealJob(id);
  for (const last of await Promise.all(watching))
    expect(last).toMatchObject({ status: 'COMPLETED', succeeded: added, itemCount: added, failed: 0 });
  await Promise.all(workers.map((worker) => worker.stop()));
  await Promise.all([producer, ...clients].map((client) => client.close()));
  expect(errors).toEqual([]);
  const [{ attempts } = { attempts: 0 }] = await db.query<{ attempts: number }>(
    'select max(attempt) as attempts from jobtree.lease',
  );
  expect(attempts).toBe(1);
  console.log(`${added} items; errors: 0; repeated by themselves: ${JSON.stringify([...repeated])}`);
});
