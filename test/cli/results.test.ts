/** `jobtree results`, and the examples of docs/results.md as they stand there. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import type { Client } from '../../src/client/index.ts';
import { example } from '../support/documentation.ts';
import { startProxy } from '../support/proxy.ts';
import { unknownJob, useServer } from '../support/use-server.ts';
import { makeFolder } from './folder.ts';
import { run, runCommands, start, startOnTerminal } from './program.ts';

const server = useServer();
const env = () => ({ env: server.env });

async function makeResults(count: number) {
  const { id } = await server.client.createJob({
    type: 'results',
    items: Array.from({ length: count }, (_, number) => ({ payload: { number } })),
    sealed: true,
  });
  const items = await server.client.claimItems('w', [{ type: 'results', limit: count }]);
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

it('the documented examples work as described', async () => {
  const { id, itemIds } = await makeResults(5);
  const file = join(await makeFolder(), 'results.ndjson.gz');
  const lines = () =>
    String(gunzipSync(readFileSync(file)))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  const at = (command: string[]) => command.map((word) => (word === 'results.ndjson.gz' ? file : word));
  expect(await run(at(words('export', [id])), env())).toEqual({
    code: 0,
    stdout: '',
    stderr: `5 results written to ${file}.\n`,
  });
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

it('the documented command prints what the page shows', async () => {
  const { id } = await makeResults(2);
  const lines = (text: string) =>
    text
      .trim()
      .replaceAll(/JobItem:[^"]+/g, 'JobItem:…')
      .split('\n');
  const [, ...documented] = lines(example('cli.md', 'results'));
  const [output = ''] = await runCommands(example('cli.md', 'results'), { Job: id }, server.env);
  expect(lines(output)).toEqual(documented);
});

it('an interrupted export has every line up to the item that it names', async () => {
  const count = 60;
  const { id } = await server.client.createJob({
    type: 'interrupted',
    items: Array.from({ length: count }, (_, payload) => ({ payload })),
  });
  for (let done = 0; done < count; ) {
    const items = await server.client.claimItems('w', [{ type: 'interrupted', limit: 15 }]);
    done += items.length;
    await server.client.reportOutcomes(
      items.map((item) => ({ assignmentId: item.id, result: randomBytes(300_000).toString('base64') })),
    );
  }
  const proxy = await startProxy(server.url);
  try {
    const file = join(await makeFolder(), 'results.ndjson.gz');
    const program = start(['results', id, '--out', file], { JOBTREE_URL: proxy.url });
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

it('on a terminal results are a table, and --limit and --type restrict it', async () => {
  const { client } = server;
  const { id } = await client.createJob({
    type: 'cut',
    items: [{ payload: 1 }],
    sealed: true,
    children: [
      { type: 'glue', feed: {} },
      { type: 'paint', feed: {} },
    ],
  });
  for (const [type, count] of [
    ['cut', 1],
    ['glue', 1],
    ['paint', 1],
  ] as const)
    for (let done = 0; done < count; ) {
      const items = await client.claimItems('w', [{ type, limit: 10 }]);
      done += items.length;
      await client.reportOutcomes(
        items.map((one) => ({ assignmentId: one.id, result: `${type} ${'x'.repeat(200)}` })),
      );
    }
  await expect
    .poll(async () => (await run(['results', id], env())).stdout.trim().split('\n'))
    .toHaveLength(2);
  const glued = await run(['results', id, '--type', 'glue'], env());
  expect(
    glued.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).result.slice(0, 4)),
  ).toEqual(['glue']);
  const [first] = glued.stdout.split('\n');
  const one = await run(['results', id, '--limit', '1'], env());
  expect(one).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^There are more: continue with --after JobItem:\S+\n$/),
  });
  const itemId = JSON.parse(one.stdout).itemId;
  const rest = await run(['results', id, '--after', itemId], env());
  expect([one.stdout.trim(), rest.stdout.trim()]).toContain(first);
  expect(rest.stdout.trim().split('\n')).toHaveLength(1);
  expect(await run(['results', id, '--type', 'saw'], env())).toMatchObject({
    code: 4,
    stderr: 'jobtree: The tree has no job of the type saw.\n',
  });

  const table = await startOnTerminal(['results', id], { ...server.env, NO_COLOR: '1' }, 100).ended;
  const lines = table.stdout.trimEnd().split('\r\n');
  expect(lines[0]).toMatch(/^ITEM +PAYLOAD +RESULT$/);
  expect(lines[1]).toMatch(new RegExp(`^${itemId}  "?cut x+…  "(glue|paint) x+…$`));
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
  const json = await startOnTerminal(['results', id, '--json'], server.env).ended;
  expect(json.stdout.split('\r\n')[0]).toBe(one.stdout.trim());
});

it('an incomplete tree is exported as far as it is, with a notice', async () => {
  const { id } = await server.client.createJob({ type: 'open', items: [{ payload: 1 }] });
  expect(await run(['results', id], env())).toEqual({
    code: 0,
    stdout: '',
    stderr: 'The tree is not complete: these are its results so far.\n',
  });
  const onTerminal = async (...options: string[]) =>
    (await startOnTerminal(['results', id, ...options], { ...server.env, NO_COLOR: '1' }).ended).stdout;
  expect(await onTerminal()).toBe('There are no results yet: the tree is not complete.\r\n');
  await server.client.cancelJob(id);
  expect(await onTerminal()).toBe('There are no results.\r\n');
});

it("what can't be exported is refused with a reason", async () => {
  const missing = await run(['results', unknownJob], env());
  expect({ ...missing, stderr: '' }).toEqual({ code: 4, stdout: '', stderr: '' });
  const { id } = await makeResults(1);
  const cursor = await run(['results', id, '--after', 'x'], env());
  expect(cursor.code).toBe(2);
  expect(cursor.stderr).toContain('after');
  const written = await run(['results', id, '--out', '/no/such/folder'], env());
  expect(written).toEqual({
    code: 1,
    stdout: '',
    stderr: "jobtree: /no/such/folder can't be written: there is no such folder.\n",
  });
  const away = await run(['results', id], { env: { JOBTREE_URL: 'http://127.0.0.1:1/graphql' } });
  expect(away.code).toBe(5);
});
