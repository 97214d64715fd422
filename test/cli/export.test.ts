/** `jobtree export`, and the examples of docs/results.md as they stand there. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Client } from '../../src/client/index.ts';
import { example } from '../support/documentation.ts';
import { makeFolder } from './folder.ts';
import { run } from './program.ts';
import { unknownJob, useServer } from './setup.ts';

const server = useServer();
const env = () => ({ env: server.env });

async function makeResults(count: number) {
  const { id } = await server.client.createJob({
    type: 'export',
    items: Array.from({ length: count }, (_, number) => ({ payload: { number } })),
    sealed: true,
  });
  const items = await server.client.claimItems('w', [{ type: 'export', limit: count }]);
  await server.client.reportOutcomes(items.map((item) => ({ assignmentId: item.id, result: 'done' })));
  await expect.poll(async () => (await server.client.job(id)).progress.status).toBe('COMPLETED');
  return { id, itemIds: items.map((item) => item.itemId) };
}

/** The words of an example's command behind the program, with these ids. */
function words(name: string, ids: readonly string[]): string[] {
  let k = 0;
  const command = example('results.md', name).replaceAll(/Job(Item)?:0199…(:1024)?/g, () => ids[k++] ?? '');
  return command.trim().split(' ').slice(1);
}

test('the examples of the documentation do what they say', async () => {
  const { id, itemIds } = await makeResults(5);
  const file = join(await makeFolder(), 'results.ndjson.gz');
  const lines = () =>
    String(gunzipSync(readFileSync(file)))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  const at = (command: string[]) => command.map((word) => (word === 'results.ndjson.gz' ? file : word));
  expect(await run(at(words('export', [id])), env())).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(lines()).toEqual(itemIds.map((itemId, number) => ({ itemId, payload: { number }, result: 'done' })));
  expect((await run(at(words('go-on', [id, itemIds[2] as string])), env())).code).toBe(0);
  expect(lines().map(({ payload }) => payload.number)).toEqual([0, 1, 2, 3, 4, 3, 4]);

  const url = words('curl', [id, itemIds[3] as string])[1]?.replace(
    'http://127.0.0.1:4000',
    new URL(server.url).origin,
  );
  const { stdout } = await promisify(execFile)('curl', ['--silent', '--compressed', url as string]);
  expect(stdout).toBe(`{"itemId":"${itemIds[4]}","payload":{"number":4},"result":"done"}\n`);

  const printed: unknown[][] = [];
  const body = `return (async () => {${example('results.md', 'client')}})();`;
  const act = new Function('client', 'job', 'console', body) as (
    client: Client,
    job: { id: string },
    console: { log: (...what: unknown[]) => void },
  ) => Promise<void>;
  await act(server.client, { id }, { log: (...what) => printed.push(what) });
  expect(printed).toEqual(itemIds.map((itemId, number) => [itemId, { number }, 'done']));
});

test('a tree that is not complete is exported as far as it is, and that is said', async () => {
  const { id } = await server.client.createJob({ type: 'open', items: [{ payload: 1 }] });
  expect(await run(['export', id], env())).toEqual({
    code: 0,
    stdout: '',
    stderr: 'The tree is not complete: these are its results so far.\n',
  });
});

test('what can not be exported is said', async () => {
  const missing = await run(['export', unknownJob], env());
  expect({ ...missing, stderr: '' }).toEqual({ code: 4, stdout: '', stderr: '' });
  const { id } = await makeResults(1);
  const cursor = await run(['export', id, '--after', 'x'], env());
  expect(cursor.code).toBe(2);
  expect(cursor.stderr).toContain('after');
  const away = await run(['export', id], { env: { JOBTREE_URL: 'http://127.0.0.1:1/graphql' } });
  expect(away.code).toBe(5);
});
