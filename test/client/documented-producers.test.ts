/** The very code of docs/producers.md, with a server and workers. */
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { createClient, PermanentError, Worker } from '../../src/client/index.ts';
import { useExamples } from '../support/documented-code.ts';
import { useServer } from '../support/use-server.ts';

const server = useServer();
const { load } = useExamples('producers.md');
beforeAll(() => {
  vi.stubEnv('JOBTREE_URL', server.url);
});
afterAll(() => {
  vi.unstubAllEnvs();
});

it.each([
  ['prints the result', () => ({ text: 'Hello, Ada!' }), [['Hello, Ada!']]],
  [
    'prints the failure',
    () => {
      throw new PermanentError('Nobody is there.', { code: 'NOBODY' });
    },
    [['NOBODY', 'Nobody is there.']],
  ],
])('a single piece of work is done: %s', async (_, handler, printed) => {
  const worker = new Worker({ url: server.url, types: { greet: { concurrency: 1, handler } } });
  onTestFinished(() => worker.stop());
  await worker.start();
  const log = vi.spyOn(console, 'log').mockImplementation(() => {});
  onTestFinished(() => log.mockRestore());
  await load('run');
  expect(log.mock.calls).toEqual(printed);
});

it('many jobs are created at once, and once', async () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {});
  onTestFinished(() => log.mockRestore());
  await load('bulk');
  await load('bulk');
  expect(log.mock.calls).toEqual([]);
  const client = createClient({ url: server.url });
  onTestFinished(() => client.close());
  const { nodes } = await client.jobs({ filter: { dedupeKeyPrefix: 'greet ' } });
  expect(nodes).toHaveLength(3);
});
