import { inspect } from 'node:util';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createClient, JobtreeError, Worker } from '../../src/client/index.ts';
import { Problems } from '../../src/client/worker/problems.ts';
import { Unheard } from '../../src/client/worker/unheard.ts';
import { createDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startServer } from '../support/server.ts';

it('a permanent problem is reported once, however often a worker retries', async () => {
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

it('failures without a listener are on the console, the first of each code', async () => {
  const database = await createDatabase();
  onTestFinished(() => database.drop());
  const server = await startServer(database.url);
  onTestFinished(() => server.close());
  const client = createClient({ url: server.url });
  onTestFinished(() => client.close());
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  onTestFinished(() => warn.mockRestore());
  const items = Array.from({ length: 20 }, (_, i) => ({ payload: i }));
  const { id } = await client.createJob({ type: 'flaky', items, sealed: true, maxFailuresPerItem: 0 });
  const handler = (payload: unknown) => {
    if (payload === 19) throw new Error('the last');
    throw Object.assign(new Error(`no ${payload}`), { code: 'LIKE_ALL' });
  };
  const worker = new Worker({ client, name: 'w', types: { flaky: { concurrency: 1, handler } } });
  onTestFinished(() => worker.stop());
  await worker.start();
  for await (const { status } of client.watchJob(id)) if (status === 'COMPLETED') break;
  await worker.stop();
  expect(warn.mock.calls.flat()).toEqual([
    expect.stringMatching(
      /^jobtree worker w: JobItem:\S+ of flaky failed at attempt 1, for good: LIKE_ALL: Error: no 0\n +at .*problems\.test\.ts/,
    ),
    expect.stringMatching(/^jobtree worker w: .* for good: Error: the last\n/),
  ]);
  // Whoever listens is told of each, and the console is not.
  const told: string[] = [];
  const other = await client.createJob({ type: 'flaky', items, sealed: true, maxFailuresPerItem: 0 });
  const listened = new Worker({ client, types: { flaky: { concurrency: 5, handler } } });
  onTestFinished(() => listened.stop());
  listened.on('failed', (_, { message }) => told.push(message));
  await listened.start();
  for await (const { status } of client.watchJob(other.id)) if (status === 'COMPLETED') break;
  await listened.stop();
  expect([told.length, warn.mock.calls.length]).toEqual([20, 2]);
});

it('a refusal without a listener is one line on the console', async () => {
  const error = vi.spyOn(console, 'error').mockImplementation(() => {});
  onTestFinished(() => error.mockRestore());
  const unheard = new Unheard('w');
  unheard.error(new JobtreeError('FORBIDDEN', 'claimItems needs the role worker.'), 0);
  const fault = new JobtreeError('BAD_RESPONSE', 'The server failed.');
  unheard.error(fault, 0);
  expect(error.mock.calls).toEqual([
    ['jobtree worker w: FORBIDDEN: claimItems needs the role worker.'],
    ['jobtree worker w:', fault],
  ]);
});

it('a printed error has no lines for what it lacks', () => {
  expect(inspect(new JobtreeError('BUSY', 'Later.'))).not.toContain('undefined');
});

it('a problem that lasts is reported again after a minute, with a count', () => {
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
