/** Workers that are programs, and what signals do to them. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { createClient, Worker } from '../../src/client/index.ts';
import { revokeApiKey } from '../../src/domain/access/api-keys.ts';
import { createDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { makeKey, statementsOf } from '../support/keys.ts';
import { startProxy } from '../support/proxy.ts';
import { freePort, startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

const server = useServer();
const program = fileURLToPath(new URL('../support/running-worker.ts', import.meta.url));

interface Program {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown[]>;
  /** The lines that it has printed. */
  readonly said: string[];
  /** What the worker itself reported on standard error. */
  readonly warned: () => string;
}

/** With one item that its handler has begun, and one that waits. */
async function startWith(payload: string, { url = server.url, stopTimeoutMs = 60_000 } = {}) {
  const client = createClient({ url: server.url });
  onTestFinished(() => client.close());
  const type = `run-${payload}-${stopTimeoutMs}-${Math.random()}`;
  const { id } = await client.createJob({ type, items: [{ payload }, {}], sealed: true });
  const child = spawn(process.execPath, ['--import', 'tsx', program, url, type, String(stopTimeoutMs)], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let warned = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    warned += text;
  });
  const said: string[] = [];
  child.stdout.setEncoding('utf8').on('data', (text: string) => said.push(...text.trimEnd().split('\n')));
  const started: Program = { child, ended: once(child, 'close'), said, warned: () => warned };
  await eventually(() => expect(said).toEqual(['claimed']));
  const statuses = async () => {
    const held = (await client.heldItems({ types: [type] })).length;
    return [...(await client.items(id)).nodes.map(({ status }) => status), held];
  };
  return { ...started, statuses };
}

/** Until a worker has noticed the first signal: of two that wait, the system sends either first. */
const isStopping = ({ warned }: Program) => eventually(() => expect(warned()).toContain('stopping'));

it('the first signal stops claiming and lets the handler finish, and the worker says what it waits for', async () => {
  const { child, ended, said, warned, statuses } = await startWith('input');
  child.kill('SIGTERM');
  await eventually(() => expect(warned()).not.toBe(''));
  child.stdin?.end();
  expect(await ended).toEqual([0, null]);
  expect(warned()).toMatch(
    /^jobtree worker \S+: stopping: waits up to 60 s for 1 handler; a second signal aborts it at once\.\n$/,
  );
  expect(said).toEqual(['claimed', 'stopped']);
  expect(await statuses()).toEqual(['SUCCEEDED', 'READY', 0]);
});

it('a handler that takes longer than stopTimeoutMs is aborted, and its item given back', async () => {
  const { child, ended, said, statuses } = await startWith('abort', { stopTimeoutMs: 200 });
  child.kill('SIGINT');
  child.stdin?.end();
  expect(await ended).toEqual([0, null]);
  expect(said).toEqual(['claimed', 'aborted: STOPPED', 'stopped']);
  expect(await statuses()).toEqual(['READY', 'READY', 0]);
});

it('a second signal gives items back at once and ends the process, whatever its handler does', async () => {
  const { statuses, ...worker } = await startWith('never');
  const { child, ended, said } = worker;
  child.kill('SIGINT');
  await isStopping(worker);
  child.kill('SIGTERM');
  expect(await ended).toEqual([143, null]);
  expect(said).toEqual(['claimed', 'aborted: STOPPED']);
  expect(await statuses()).toEqual(['READY', 'READY', 0]);
});

it('a Ctrl-C that arrives twice, as below npm, counts once', async () => {
  const { child, ended, statuses } = await startWith('input');
  child.kill('SIGINT');
  await delay(5);
  child.kill('SIGINT');
  child.stdin?.end();
  expect(await ended).toEqual([0, null]);
  expect(await statuses()).toEqual(['SUCCEEDED', 'READY', 0]);
});

it('a Ctrl-C that arrives again when the worker has stopped does not kill its program', async () => {
  // On a busy machine it may come too late to be the same one.
  await eventually(async () => {
    const { child, ended, said } = await startWith('abort', { stopTimeoutMs: 1 });
    child.kill('SIGINT');
    await eventually(() => expect(said).toContain('stopped'));
    child.kill('SIGINT');
    await delay(50);
    child.stdin?.end();
    expect(await ended).toEqual([0, null]);
  });
});

it('a second Ctrl-C that arrives twice still gives items back', async () => {
  const { statuses, ...worker } = await startWith('never');
  const { child, ended } = worker;
  child.kill('SIGTERM');
  await isStopping(worker);
  child.kill('SIGINT');
  await delay(5);
  child.kill('SIGINT');
  expect(await ended).toEqual([130, null]);
  expect(await statuses()).toEqual(['READY', 'READY', 0]);
});

/** A worker that has had SIGINT and SIGTERM, while the server does not answer. */
async function signalTwiceWithoutAnswers(): Promise<Program> {
  const proxy = await startProxy(server.url);
  onTestFinished(() => proxy.close());
  const worker = await startWith('never', { url: proxy.url });
  const { child } = worker;
  proxy.swallowAnswers();
  child.kill('SIGINT');
  await isStopping(worker);
  child.kill('SIGTERM');
  return worker;
}

it('a third signal ends it immediately', async () => {
  const { child, ended, said } = await signalTwiceWithoutAnswers();
  await eventually(() => expect(said).toContain('aborted: STOPPED'));
  child.kill('SIGINT');
  expect(await ended).toEqual([130, null]);
});

it('a second signal ends it in time while the server does not answer', async () => {
  const { ended, said } = await signalTwiceWithoutAnswers();
  expect(await ended).toEqual([143, null]);
  expect(said).toEqual(['claimed', 'aborted: STOPPED']);
});

it('a worker whose last outcome does not reach the server exits with 1', async () => {
  const proxy = await startProxy(server.url);
  onTestFinished(() => proxy.close());
  const { child, ended, said } = await startWith('input', { url: proxy.url, stopTimeoutMs: 200 });
  proxy.cut();
  child.kill('SIGTERM');
  child.stdin?.end();
  expect(await ended).toEqual([1, null]);
  expect(said).toEqual([
    'claimed',
    'error: The worker stopped before the server knew what became of 1 item.',
    'stopped',
  ]);
});

it('a worker that the server refuses at the start exits with 1, and one that is refused later goes on', async () => {
  const db = await createDatabase();
  onTestFinished(() => db.drop());
  const app = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
  onTestFinished(() => app.close());
  const begin = (token: string, type: string) => {
    const env = { ...process.env, JOBTREE_TOKEN: token };
    const args = ['--import', 'tsx', program, app.url, type, '60000'];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'], env });
    onTestFinished(() => void child.kill('SIGKILL'));
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    return { child, said: () => said, ended: once(child, 'close') };
  };
  const { id, key } = await makeKey(db, ['worker'], { types: ['mail'] });
  for (const [token, type, why] of [
    ['jobtree_nonsense', 'mail', 'refuses the caller'],
    [key, 'resize', 'does not include the type "resize"'],
    // Its claims and its hints are refused, and one message says it.
    [(await makeKey(db, ['producer'])).key, 'mail', 'needs the role admin or worker'],
  ] as const) {
    const refused = begin(token, type);
    refused.child.stdin.end();
    expect(await refused.ended).toEqual([1, null]);
    expect(refused.said()).toMatch(new RegExp(`^error: .*${why}.*\nstopped\n$`));
  }

  const client = createClient({ url: app.url, token: (await makeKey(db, ['admin'])).key });
  onTestFinished(() => client.close());
  const admitted = begin(key, 'mail');
  await client.createJob({ type: 'mail', items: [{ payload: 'input' }] });
  await eventually(() => expect(admitted.said()).toBe('claimed\n'));
  await revokeApiKey(statementsOf(db), id);
  await eventually(() => expect(admitted.said()).toContain('refuses the caller'));
  expect(admitted.child.exitCode).toBeNull();
});

it('a worker started with start() continues after a refusal', async () => {
  const db = await createDatabase();
  onTestFinished(() => db.drop());
  const app = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
  onTestFinished(() => app.close());
  let token = 'jobtree_nonsense';
  const client = createClient({ url: app.url, token: () => token });
  onTestFinished(() => client.close());
  const types = { mail: { concurrency: 1, handler: () => null } };
  const worker = new Worker({ client, types, pollIntervalMs: 100 });
  onTestFinished(() => worker.stop());
  const refused = new Promise((resolve) => worker.once('error', resolve));
  const connected = new Promise<void>((resolve) => worker.once('connected', resolve));
  await worker.start();
  expect(await refused).toMatchObject({ code: 'UNAUTHENTICATED' });
  ({ key: token } = await makeKey(db, ['worker']));
  await connected;
  // It follows hints again, too.
  await expect.poll(() => db.query('select name from jobtree.worker')).toEqual([{ name: worker.name }]);
});

it('runOnce() throws if no server answers, or if the server refuses the key', async () => {
  const port = await freePort();
  const nowhere = new Worker({
    url: `http://127.0.0.1:${port}/graphql`,
    types: { mail: { concurrency: 1, handler: () => null } },
  });
  nowhere.on('disconnected', () => {});
  const silence = expect(nowhere.runOnce()).rejects.toMatchObject({
    code: 'UNREACHABLE',
    message: expect.stringContaining('ECONNREFUSED'),
  });

  const db = await createDatabase();
  onTestFinished(() => db.drop());
  const app = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
  onTestFinished(() => app.close());
  const client = createClient({ url: app.url, token: 'jobtree_nonsense' });
  onTestFinished(() => client.close());
  const refused = new Worker({ client, types: { mail: { concurrency: 1, handler: () => null } } });
  refused.on('error', () => {});
  await expect(refused.runOnce()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  await silence;
});

it.each([
  [400, '. The API of a server is usually at /graphql: does the URL lack it?'],
  [403, '.'],
  [429, '.'],
  [502, '.'],
])(
  'a worker that is answered %i says what its URL may lack, if that can be the cause',
  async (status, end) => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    other.on('upgrade', (_, socket) => socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`));
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const worker = new Worker({
      url: `http://127.0.0.1:${port}/`,
      types: { mail: { concurrency: 1, handler: () => null } },
    });
    onTestFinished(() => worker.stop({ atOnce: true }));
    const disconnected = once(worker, 'disconnected');
    await worker.start();
    const [{ message }] = (await disconnected) as [Error];
    expect(message.split('server response: ')[1]).toBe(`${status}${end}`);
  },
);
