import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { chooseLocation } from '../../src/embedded/location.ts';
import {
  childrenOf,
  expectGone,
  pidFile,
  query,
  serverPid,
  sharedFolder,
  start,
  startOwner,
} from './support.ts';

const folder = sharedFolder();

it('a killed owner ends its server, and the next start has all committed data', async () => {
  const owner = await startOwner(folder);
  await query(owner.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
  const server = serverPid(folder);

  await owner.kill();
  await expectGone(server);
  expect(existsSync(pidFile(folder))).toBe(false);

  const next = await start(folder);
  expect(next.started).toBe('existing');
  expect(await query(next.url, 'SELECT answer FROM kept')).toEqual([42]);
});

it('a start right after the owner was killed does not attach to a server that is about to stop', async () => {
  const owner = await startOwner(folder);
  const server = serverPid(folder);
  // A stopped watchdog cannot act: the dead owner's server is still there and answers.
  const others = childrenOf(owner.pid).filter((pid) => pid !== server);
  for (const pid of others) process.kill(pid, 'SIGSTOP');
  onTestFinished(() => {
    for (const pid of others) process.kill(pid, 'SIGKILL');
  });
  await owner.kill();

  const next = await start(folder);
  expect(next.started).toBe('existing');
  expect(serverPid(folder)).not.toBe(server);
  await expectGone(server);
  expect(await query(next.url, 'SELECT 1')).toEqual([1]);
});

it('a killed server is restarted and recovered', async () => {
  const owner = await startOwner(folder);
  await query(owner.url, 'CREATE TABLE recovered AS SELECT 42 AS answer');
  process.kill(serverPid(folder), 'SIGKILL');

  const next = await start(folder);
  expect(next.started).toBe('existing');
  expect(await query(next.url, 'SELECT answer FROM recovered')).toEqual([42]);
  expect(readFileSync(join(folder, 'postgres.log'), 'utf8')).toContain('was not properly shut down');
  await owner.stop(); // its own is gone: a stop that finds nothing to do, and leaves the new one alone
  expect(await query(next.url, 'SELECT 1')).toEqual([1]);
});

it('a pid file that names another program, and its port, is ignored', async () => {
  const { account } = chooseLocation(folder);
  await (await start(folder)).stop();
  // Same account as the server: Postgres itself believes the number if it may send the process a signal.
  const stranger = spawn('sleep', ['1000'], { ...account, cwd: '/', stdio: 'ignore' });
  const port = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(port, 'listening');
  onTestFinished(() => {
    stranger.kill('SIGKILL');
    port.close();
  });
  const address = port.address() as { port: number };
  const leftover = [
    stranger.pid,
    join(folder, 'postgres'),
    1_700_000_000,
    address.port,
    '',
    '127.0.0.1',
    '',
    'ready',
  ];
  writeFileSync(pidFile(folder), `${leftover.join('\n')}\n`);

  const next = await start(folder);
  expect(next.started).toBe('existing');
  expect(stranger.exitCode ?? stranger.signalCode).toBe(null);
});

it('remains of a kill during initdb are removed', async () => {
  const killed = spawn('true');
  await once(killed, 'exit');
  const leftover = join(folder, `postgres.unfinished-${killed.pid}-abcdef`);
  mkdirSync(leftover);
  writeFileSync(join(leftover, 'jobtree.password'), 'x');

  await start(folder);
  expect(existsSync(leftover)).toBe(false);
});
