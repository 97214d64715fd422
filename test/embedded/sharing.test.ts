import { execFileSync } from 'node:child_process';
import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { installedBinaries, prepareBinaries } from '../../src/embedded/binaries.ts';
import { chooseLocation } from '../../src/embedded/location.ts';
import { launchPostmaster } from '../../src/embedded/postmaster.ts';
import { expectGone, pidFile, query, serverPid, sharedFolder, start, startOwner } from './support.ts';

const folder = sharedFolder();
const original = join(folder, 'original');

it('of four processes that start at once in a new folder, one starts the server and the others attach', async () => {
  const all = await Promise.all([1, 2, 3, 4].map(() => startOwner(original)));
  const attached = all.filter(({ started }) => started === 'attached');
  const owner = all.find(({ started }) => started !== 'attached');
  expect(attached).toHaveLength(3);
  expect(new Set(all.map(({ url }) => url)).size).toBe(1);

  const server = serverPid(original);
  await Promise.all(attached.map((user, index) => (index === 0 ? user.kill() : user.stop())));
  expect(await query(all[0]?.url ?? '', 'SELECT 1')).toEqual([1]);
  expect(serverPid(original)).toBe(server);

  await owner?.stop();
  await expectGone(server);
  expect(existsSync(pidFile(original))).toBe(false);
});

it('a start in the same process also attaches, under any name of the folder', async () => {
  const [one, two] = await Promise.all([start(original), start(original)]);
  expect([one.started, two.started]).toContain('attached');
  expect(one.url).toBe(two.url);

  symlinkSync(original, join(folder, 'link'));
  expect(await start(join(folder, 'link'))).toMatchObject({ started: 'attached', url: one.url });
});

it('of two servers launched on the same files, one runs and the other ends', async () => {
  await (await start(original)).stop();
  const { account } = chooseLocation(original);
  const launch = {
    binaries: prepareBinaries(installedBinaries(), original, account),
    account,
    cluster: join(original, 'postgres'),
    log: join(original, 'postgres.log'),
    settings: { fsync: 'off' },
    formerPid: undefined,
  };
  const launched = await Promise.all([launchPostmaster(launch), launchPostmaster(launch)]);
  const [winner, ...others] = launched.filter((postmaster) => postmaster !== undefined);
  expect(winner).toBeDefined();
  expect(others).toEqual([]);
  await winner?.stop();
});

it('the copy of a folder in use gets its own server', async () => {
  const copy = join(folder, 'copy');
  await (await start(original)).stop();
  execFileSync('cp', ['-a', original, copy]);
  const first = await start(original);
  execFileSync('cp', ['-a', pidFile(original), pidFile(copy)]); // as if copied while the server ran

  const second = await start(copy);
  expect(second.started).toBe('existing');
  expect(second.port).not.toBe(first.port);
});
