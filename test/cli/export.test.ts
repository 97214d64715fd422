/** `jobtree export`, and the examples of docs/results.md as they stand there. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Client } from '../../src/client/index.ts';
import { example } from '../support/documentation.ts';
import { startProxy } from '../support/proxy.ts';
import { makeFolder } from './folder.ts';
import { run, start } from './program.ts';
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

test('what is interrupted has all lines up to the item that it says, and is whole', async () => {
  const count = 60;
  const { id } = await server.client.createJob({
    type: 'interrupted',
    items: Array.from({ length: count }, (_, payload) => ({ payload })),
  });
  for (let done = 0; done < count; ) {
    const items = await server.client.claimItems('w', [{ type: 'interrupted', limit: 20 }]);
    done += items.length;
    await server.client.reportOutcomes(
      items.map((item) => ({ assignmentId: item.id, result: randomBytes(300_000).toString('base64') })),
    );
  }
  const proxy = await startProxy(server.url);
  try {
    const file = join(await makeFolder(), 'results.ndjson.gz');
    const program = start(['export', id, '--out', file], { JOBTREE_URL: proxy.url });
    await expect.poll(() => existsSync(file) && statSync(file).size).toBeGreaterThan(0);
    proxy.freeze();
    program.process.kill('SIGINT');
    const { code, stderr } = await program.ended;
    expect(code).toBe(130);
    const written = String(gunzipSync(readFileSync(file)))
      .trim()
      .split('\n');
    const last = JSON.parse(written.at(-1) as string);
    expect(written.map((line) => JSON.parse(line).payload)).toEqual(written.map((_, n) => n));
    expect(stderr).toContain(`--after ${last.itemId}\n`);
  } finally {
    await proxy.close();
  }
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
