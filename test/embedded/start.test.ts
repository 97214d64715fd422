import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
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

const folder = join(sharedFolder(), '.jobtree');

describe('an embedded Postgres', () => {
  it('is created at the first start and found at the second', async () => {
    const first = await start(folder);
    expect(first).toMatchObject({ started: 'fresh', dataDirectory: folder });
    await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    const server = serverPid(folder);
    await first.stop();
    expect(existsSync(pidFile(folder))).toBe(false);
    await expectGone(server);

    const second = await start(folder);
    expect(second).toMatchObject({ started: 'existing', dataDirectory: folder });
    expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([42]);
    await second.stop();
    await second.stop();
    expect(existsSync(pidFile(folder))).toBe(false);
    expect(readdirSync(folder).sort()).toEqual(['postgres', 'postgres.log']);
  });

  it('listens on loopback only, and requires the password', async () => {
    const { url, port } = await start(folder);

    expect(await query(url, 'SHOW listen_addresses')).toEqual(['127.0.0.1']);
    expect(await query(url, 'SHOW unix_socket_directories')).toEqual(['']);
    expect(new URL(url)).toMatchObject({ hostname: '127.0.0.1', port: String(port), pathname: '/jobtree' });
    const wrong = new pg.Client(Object.assign(new URL(url), { password: 'guess' }).href);
    await expect(wrong.connect()).rejects.toMatchObject({ code: '28P01' });
    expect(statSync(join(folder, 'postgres')).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, 'postgres', 'jobtree.password')).mode & 0o777).toBe(0o600);
  });

  it('is durable unless told otherwise', async () => {
    const durable = await start(folder, { settings: { max_connections: '7' } });
    for (const [setting, value] of Object.entries({
      fsync: 'on',
      synchronous_commit: 'on',
      full_page_writes: 'on',
      max_connections: '7',
      shared_buffers: '128MB',
      TimeZone: 'UTC',
    })) {
      expect(await query(durable.url, `SHOW ${setting}`), setting).toEqual([value]);
    }
    await durable.stop();

    const careless = await start(folder);
    expect(await query(careless.url, 'SHOW fsync')).toEqual(['off']);
  });

  it('survives a Ctrl-C that its owner handles, until the owner stops it', async () => {
    const owner = await startOwner(folder, { detached: true });
    const server = serverPid(folder);
    const drained = new Promise((resolve) => owner.lines.once('line', resolve));

    process.kill(-owner.pid, 'SIGINT'); // the whole process group, as a terminal does
    expect(await drained).toBe('drained');
    await expectGone(owner.pid, server);
    expect(existsSync(pidFile(folder))).toBe(false);
  });

  it('does not keep an idle program alive, and ends with it', async () => {
    const owner = await startOwner(folder, {}, 'forgetful');
    await expectGone(owner.pid);
    await eventually(() => expect(existsSync(pidFile(folder))).toBe(false));
  });

  it.skipIf(process.platform !== 'linux')('leaves no process after a stop', async () => {
    const before = childrenOf(process.pid);
    const postgres = await start(folder);
    const added = childrenOf(process.pid).filter((pid) => !before.includes(pid));
    expect(added).toHaveLength(2); // server and watchdog
    await postgres.stop();
    expect(childrenOf(process.pid).filter((pid) => added.includes(pid))).toEqual([]);
  });
});
