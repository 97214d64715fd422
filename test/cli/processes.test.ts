/** `jobtree start --processes`: several processes serve on one port, and look like one server. */
import { execFileSync } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { request } from '../support/api.ts';
import { freePort } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';
import { makeFolder } from './folder.ts';
import { type Running, run, start } from './program.ts';

const database = useDatabase();

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
      `select from pg_stat_activity where datname = current_database() and application_name like 'jobtree listener %'`,
    )
  ).length;
const count = (text: string, part: string) => text.split(part).length - 1;

it('two processes serve on one port; a killed one is replaced, and SIGTERM ends all of them', async () => {
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
  await program.printed('a new process is serving');
  expect(processesOf(program)).toHaveLength(2);
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

it('a connection that was handed to a process which was then killed ends, and costs the primary nothing', async () => {
  const port = await freePort();
  const program = start(['start', '--processes', '2'], {
    DATABASE_URL: database.url,
    JOBTREE_PORT: String(port),
  });
  await program.printed('"msg":"ready"');
  const descriptors = async () => (await readdir(`/proc/${program.process.pid}/fd`)).length;
  await request(`http://127.0.0.1:${port}/graphql`, '{ jobs(first: 1) { nodes { id } } }');
  const [killed = 0] = processesOf(program);
  const before = await descriptors();
  process.kill(killed, 'SIGSTOP');
  // They go to both in turn. The one that stands still gets one, and the other one takes the rest.
  const answers: string[] = [];
  for (let i = 0; i < 6; i++) {
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    let answer = '';
    socket.on('data', (data) => {
      answer += String(data);
    });
    socket.on('error', () => {});
    socket.once('close', () => answers.push(answer.split('\r\n', 1)[0] ?? ''));
    socket.write('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n');
  }
  await expect.poll(() => answers.length).toBe(5);
  process.kill(killed, 'SIGKILL');
  await expect.poll(() => answers.toSorted()).toEqual(['', ...Array<string>(5).fill('HTTP/1.1 200 OK')]);
  await program.printed('a new process is serving');
  await expect.poll(descriptors).toBe(before);
});

it('Ctrl-C, which reaches every process, ends them cleanly', async () => {
  const program = start(['start', '--processes', '2'], { DATABASE_URL: database.url, JOBTREE_PORT: '0' });
  await program.printed('"msg":"ready"');
  for (const pid of processesOf(program)) process.kill(pid, 'SIGINT');
  program.process.kill('SIGINT');
  const { code, stderr } = await program.ended;
  expect({ code, stopped: count(stderr, '"msg":"stopped"') }).toEqual({ code: 0, stopped: 2 });
});

it('a port that is in use is reported once, with the exit code of a single process', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as { port: number };
  const env = { DATABASE_URL: database.url, JOBTREE_PORT: String(port), JOBTREE_LOG_LEVEL: 'silent' };
  const { code, stderr } = await run(['start', '--processes', '2'], { env });
  await new Promise((resolve) => other.close(resolve));
  expect({ code, said: count(stderr, `uses port ${port}`) }).toEqual({ code: 1, said: 1 });
});

it('all processes share the embedded Postgres of the first', async () => {
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

/** A Postgres that takes connections and never says a word: a start stays where it is. */
async function muteDatabase() {
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => void sockets.push(socket.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `postgres://someone@127.0.0.1:${port}/something`,
    connected: new Promise((resolve) => server.once('connection', resolve)),
  };
}

it.each([1, 2])('SIGTERM during the start of %i ends it at once', async (processes) => {
  const mute = await muteDatabase();
  const env = { DATABASE_URL: mute.url, JOBTREE_PORT: '0', JOBTREE_START_TIMEOUT_MS: '600000' };
  const program = start(['start', '--processes', String(processes)], env);
  await mute.connected;
  program.process.kill('SIGTERM');
  expect(await program.ended).toMatchObject({ code: 0, stdout: '' });
});

const faulty = (fault: string) => ({
  DATABASE_URL: database.url,
  JOBTREE_PORT: '0',
  START_FAULT: fault,
  NODE_OPTIONS: `--import ${new URL('start-fault.mjs', import.meta.url).href}`,
});

it('a process with invalid settings is not replaced: all end, with the exit code for that', async () => {
  const { code, stderr } = await run(['start', '--processes', '2'], { env: faulty('settings') });
  expect({ code, said: count(stderr, 'JOBTREE_PORT') }).toEqual({ code: 2, said: 1 });
  expect(stderr).not.toContain('it is replaced');
});

it('a process that dies at its start five times in a row ends all', async () => {
  const { code, stderr } = await run(['start', '--processes', '2'], { env: faulty('death') });
  expect({ code, replaced: count(stderr, 'it is replaced') }).toEqual({ code: 1, replaced: 4 });
  expect(count(stderr, '"msg":"stopped"')).toBe(1);
});

it("a process that can't reach Postgres is restarted until it can", async () => {
  const program = start(['start', '--processes', '2'], faulty('unreachable'));
  await program.printed('"msg":"ready"');
  program.process.kill('SIGTERM');
  const { code, stderr } = await program.ended;
  expect({ code, replaced: count(stderr, 'it is replaced') }).toEqual({ code: 0, replaced: 6 });
});
