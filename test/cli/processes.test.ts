/** `jobtree start --processes`: several processes serve on one port, and look like one server. */
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { request } from '../support/api.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/server.ts';
import { makeFolder } from './folder.ts';
import { type Running, run, start } from './program.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database?.drop());

const processesOf = ({ process: { pid } }: Running): number[] => {
  try {
    return execFileSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' })
      .trim()
      .split('\n')
      .map(Number);
  } catch {
    return [];
  }
};
/** Each process has one. */
const listeners = async () =>
  (
    await database.query(
      `select from pg_stat_activity where datname = current_database() and application_name = 'jobtree listener'`,
    )
  ).length;
const count = (text: string, part: string) => text.split(part).length - 1;

test('two processes serve on one port; one that is killed is replaced, and SIGTERM ends all of them', async () => {
  const port = String(await freePort());
  const program = start(['start', '--processes', '2'], { DATABASE_URL: database.url, JOBTREE_PORT: port });
  await program.printed('"msg":"ready"');
  const before = processesOf(program);
  expect(before).toHaveLength(2);
  await expect.poll(listeners).toBe(2);
  const url = `http://127.0.0.1:${port}/graphql`;
  const client = createClient({ url });
  const { id } = await client.createJob({ type: 'a', items: [{}], sealed: true });
  const [killed = 0, stays] = before;

  process.kill(killed, 'SIGKILL');
  await program.printed('it is replaced');
  // The other one takes what comes meanwhile.
  for (let i = 0; i < 20; i++) expect((await client.job(id)).progress.itemCount).toBe(1);
  await expect.poll(() => processesOf(program).length).toBe(2);
  expect(processesOf(program)).toContain(stays);
  expect(processesOf(program)).not.toContain(killed);
  await expect.poll(listeners).toBe(2);
  const ready = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status;
  for (let i = 0; i < 10; i++) expect(await ready()).toBe(200);
  expect((await request(url, '{ jobs(first: 1) { nodes { id } } }')).errors).toBeUndefined();
  await client.close();

  const after = processesOf(program);
  program.process.kill('SIGTERM');
  const { code, stdout, stderr } = await program.ended;
  expect({ code, apis: count(stdout, 'API ') }).toEqual({ code: 0, apis: 1 });
  expect(count(stderr, '"msg":"stopped"')).toBe(2);
  for (const pid of after) expect(() => process.kill(pid, 0)).toThrow();
});

test('Ctrl-C, which reaches every process, ends them in good order', async () => {
  const program = start(['start', '--processes', '2'], { DATABASE_URL: database.url, JOBTREE_PORT: '0' });
  await program.printed('"msg":"ready"');
  for (const pid of processesOf(program)) process.kill(pid, 'SIGINT');
  program.process.kill('SIGINT');
  const { code, stderr } = await program.ended;
  expect({ code, stopped: count(stderr, '"msg":"stopped"') }).toEqual({ code: 0, stopped: 2 });
});

test('a port that is taken is said once, with the exit code of one process', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as { port: number };
  const env = { DATABASE_URL: database.url, JOBTREE_PORT: String(port), JOBTREE_LOG_LEVEL: 'silent' };
  const { code, stderr } = await run(['start', '--processes', '2'], { env });
  await new Promise((resolve) => other.close(resolve));
  expect({ code, said: count(stderr, 'EADDRINUSE') }).toEqual({ code: 1, said: 1 });
});

test('all processes share the embedded Postgres of the first', async () => {
  const folder = join(await makeFolder(), 'data');
  const program = start(['start', '--processes', '2'], {
    DATABASE_URL: undefined,
    JOBTREE_DATA_DIR: folder,
    JOBTREE_PORT: '0',
  });
  await program.printed('"msg":"ready"');
  program.process.kill('SIGTERM');
  const { code, stdout } = await program.ended;
  expect(code).toBe(0);
  expect(stdout).toContain(`Postgres  embedded, data in ${folder}\n`);
});
