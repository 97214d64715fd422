/** The example of docs/several-databases.md as it stands there: trees on two databases, with a server each, and one process that works for both. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createClient, type JobTreeProgress, type Worker } from '../../src/client/index.ts';
import type { App } from '../../src/server/create-app.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { example } from '../support/documentation.ts';
import { startServer } from '../support/server.ts';

const databases: TestDatabase[] = [];
const servers: App[] = [];
beforeAll(async () => {
  databases.push(...(await Promise.all([createDatabase(), createDatabase()])));
  servers.push(...(await Promise.all(databases.map(({ url }) => startServer(url)))));
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()));
  await Promise.all(databases.map((database) => database.drop()));
});

it('trees of many customers complete on both databases, and are found on their shards', async () => {
  const file = join(import.meta.dirname, `.shards-${process.pid}.ts`);
  const code = example('several-databases.md', 'shards').replaceAll(
    "'jobtree-client'",
    "'../../src/client/index.ts'",
  );
  await writeFile(file, `// @ts-nocheck\n${code}`);
  onTestFinished(() => rm(file));
  const { connectShards } = await import(file);
  const urls = servers.map(({ url }) => url);
  const shards = connectShards(urls);
  onTestFinished(() => shards.close());

  const handler = (payload: unknown) => [payload];
  const types = { ship: { concurrency: 5, handler }, ask: { concurrency: 5, handler } };
  const workers: Worker[] = await shards.startWorkers(types);
  onTestFinished(async () => void (await Promise.all(workers.map((worker) => worker.stop()))));

  const job = {
    type: 'ship',
    items: [{ payload: 1 }, { payload: 2 }],
    sealed: true,
    children: [{ type: 'ask', feed: { forEach: 'result' } }],
  };
  const customers = Array.from({ length: 20 }, (_, i) => `customer ${i}`);
  const trees: { shard: number; id: string }[] = await Promise.all(
    customers.map((customer) => shards.createJob(customer, job)),
  );
  for (const tree of trees) {
    let last: JobTreeProgress | undefined;
    for await (const state of shards.watchTree(tree)) last = state;
    expect(last).toMatchObject({ complete: true, jobs: [{ succeeded: 2 }, { succeeded: 2 }] });
  }
  expect(new Set(trees.map(({ shard }) => shard))).toEqual(new Set([0, 1]));
  expect(new Set(trees.map(({ id }) => id)).size).toBe(trees.length);
  const again: { shard: number }[] = await Promise.all(
    customers.map((customer) => shards.createJob(customer, job)),
  );
  expect(again.map(({ shard }) => shard)).toEqual(trees.map(({ shard }) => shard));

  const [{ shard, id }] = trees as [{ shard: number; id: string }];
  const elsewhere = createClient({ url: urls[1 - shard] });
  await expect(elsewhere.job(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await elsewhere.close();
});
