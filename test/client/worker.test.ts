import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClient, defineType, Worker } from '../../src/client/index.ts';
import type { App } from '../../src/server/create-app.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startServer } from '../support/server.ts';

let database: TestDatabase;
let server: App;
beforeAll(async () => {
  database = await createDatabase();
  server = await startServer(database.url);
});
afterAll(async () => {
  await server?.close();
  await database?.drop();
});

test('smoke', async () => {
  const client = createClient({ url: server.url });
  const square = defineType<{ n: number }, { square: number }>('square');
  const { id } = await client.createJob(
    square.job({ items: [{ n: 3 }, square.item({ n: 4 }, { dedupeKey: 'x' })], sealed: true }),
  );
  const worker = new Worker({
    client,
    types: { square: { concurrency: 2, handler: square.handler(({ n }) => ({ square: n * n })) } },
  });
  await worker.start();
  const states = [];
  for await (const progress of client.watchJob(id)) states.push(progress);
  expect(states.at(-1)).toMatchObject({ status: 'COMPLETED', succeeded: 2 });
  await worker.stop();
  const results = [];
  for await (const r of client.results(id)) results.push(r.result);
  expect(results).toEqual([{ square: 9 }, { square: 16 }]);
  await client.close();
});
