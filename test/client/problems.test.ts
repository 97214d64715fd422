import { expect, onTestFinished, test, vi } from 'vitest';
import { createClient, Worker } from '../../src/client/index.ts';
import { Problems } from '../../src/client/worker/problems.ts';
import { createDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startServer } from '../support/server.ts';

test('what a server can not do at all is told once, however often a worker tries it', async () => {
  const database = await createDatabase();
  onTestFinished(() => database.drop());
  const server = await startServer(database.url);
  onTestFinished(() => server.close());
  const client = createClient({ url: server.url });
  onTestFinished(() => client.close());
  const [claims] = await database.query<{ name: string }>(
    `select oid::regprocedure as name from pg_proc where pronamespace = 'jobtree'::regnamespace and proname = 'claim_items'`,
  );
  await database.query(`alter function ${claims?.name} rename to away`);
  const worker = new Worker({ client, types: { broken: { concurrency: 1, handler: () => null } } });
  onTestFinished(() => worker.stop());
  const errors: unknown[] = [];
  worker.on('error', (error) => errors.push(error));
  const requests = vi.spyOn(client.socket, 'request');
  await worker.start();
  await eventually(() => expect(requests.mock.calls.length).toBeGreaterThan(4));
  expect(errors).toMatchObject([{ code: 'BAD_RESPONSE' }]);
});

test('a problem that goes on is told again after a minute, with how often it came', () => {
  const told: unknown[][] = [];
  let now = 0;
  const problems = new Problems(
    (error, again) => told.push([String(error), again]),
    () => now,
  );
  for (now = 0; now < 130_000; now += 1_000) {
    problems.add(new Error('this'));
    if (now === 5_000) problems.add(new Error('that'));
  }
  expect(told).toEqual([
    ['Error: this', 0],
    ['Error: that', 0],
    ['Error: this', 60],
    ['Error: this', 60],
  ]);
});
