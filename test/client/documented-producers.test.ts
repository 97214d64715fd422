/** The very code of docs/producers.md and docs/dependencies.md that uses results, with a server and workers. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transform } from 'esbuild';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { type Client, PermanentError, Worker } from '../../src/client/index.ts';
import { useServer } from '../cli/setup.ts';
import { bundle } from '../support/bundle.ts';
import { example } from '../support/documentation.ts';

const server = useServer();
const root = fileURLToPath(new URL('../..', import.meta.url));
let folder: string;
beforeAll(async () => {
  vi.stubEnv('JOBTREE_URL', server.url);
  // Below the root, where Node finds packages.
  folder = await mkdtemp(join(root, 'test/client/.producers-'));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

async function load<Exports>(page: string, name: string): Promise<Exports> {
  const { code: main } = await transform(example(page, name), { loader: 'ts' });
  const file = join(folder, `${name}-${Math.random()}.mjs`);
  await writeFile(file, (await bundle({ main }, 'node')).code);
  return (await import(pathToFileURL(file).href)) as Exports;
}

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
  await load('producers.md', 'run');
  expect(log.mock.calls).toEqual(printed);
});

it('the results of a child are added up', async () => {
  const { createTree, makeWorker } = await load<{
    createTree(client: Client, texts: readonly string[]): Promise<string>;
    makeWorker(client: Client): Worker;
  }>('dependencies.md', 'adding-up');
  const worker = makeWorker(server.client);
  onTestFinished(() => worker.stop());
  await worker.start();
  const id = await createTree(server.client, ['one', 'one two', 'one two three']);
  for await (const _ of server.client.watchTree(id));
  const results: unknown[] = [];
  for await (const { result } of server.client.results(id)) results.push(result);
  expect(results).toEqual([{ words: 6 }]);
});
