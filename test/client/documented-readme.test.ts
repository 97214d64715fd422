/** The very code of the README, with a server. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { example } from '../support/documentation.ts';
import { useServer } from '../support/use-server.ts';

const server = useServer();
const root = fileURLToPath(new URL('../..', import.meta.url));
const execute = promisify(execFile);

it('the example in TypeScript works', async () => {
  // Below the root, where Node finds the package by its own name.
  const folder = await mkdtemp(join(root, 'test/client/.readme-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'main.mts');
  await writeFile(file, example('../README.md', 'main'));
  const env = { ...process.env, JOBTREE_URL: server.url };
  const { stdout, stderr } = await execute(join(root, 'node_modules/.bin/tsx'), [file], { env });
  expect(stderr).toBe('');
  expect(stdout).toMatch(
    /^Hello, Ada!\n(Waiting.*\n|Job running.*\n)*Job complete 2 0\nHello, Grace!\nHello, Katherine!\n$/,
  );
});

it('the example in a shell works', async () => {
  const [ask = '', create = '', claim = '', report = '', ...watch] = example('../README.md', 'ask')
    .split('\n')
    .filter((line) => line !== '');
  const run = async (commands: string, id = '') => {
    const filled = commands.replaceAll('http://127.0.0.1:4000/graphql', server.url).replace(/(?<=\w:)…/, id);
    return (await execute('sh', ['-c', filled])).stdout;
  };
  const created = await run(`${ask}\n${create}`);
  const job = /"id":"Job:([^"]+)"/.exec(created)?.[1] ?? created;
  // What is not accepted says why.
  expect(await run(`${ask}\n${create.replace('addOne', '')}`)).toMatch(/"message":".*type/);
  const claimed = await run(`${ask}\n${claim}`);
  expect(claimed).toContain('"payload":42');
  const assignment = /"id":"Assignment:([^"]+)"/.exec(claimed)?.[1] ?? claimed;
  expect(await run(`${ask}\n${report}`, assignment)).toContain('"entries":[{"status":"ACCEPTED"}]');
  expect(await run(watch.join('\n'), job)).toContain('"message":"Job complete"');
});
