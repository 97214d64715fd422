import { execFileSync } from 'node:child_process';
import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { expectGone, pidFile, query, serverPid, start, startOwner, temporaryFolder } from './support.ts';

vi.setConfig({ testTimeout: 30_000 });

test('of four processes that start at once on a new folder, one starts the server and the others attach', async () => {
  const folder = join(temporaryFolder(), '.jobtree');
  const all = await Promise.all([1, 2, 3, 4].map(() => startOwner(folder)));
  const attached = all.filter(({ started }) => started === 'attached');
  const owner = all.find(({ started }) => started !== 'attached');
  expect(attached).toHaveLength(3);
  expect(new Set(all.map(({ url }) => url)).size).toBe(1);

  const server = serverPid(folder);
  await Promise.all(attached.map((user, index) => (index === 0 ? user.kill() : user.stop())));
  expect(await query(all[0]?.url ?? '', 'SELECT 1')).toEqual([1]);
  expect(serverPid(folder)).toBe(server);

  await owner?.stop();
  await expectGone(server);
  expect(existsSync(pidFile(folder))).toBe(false);
});

test('a start in the same process attaches too, under any name of the folder', async () => {
  const folder = temporaryFolder();
  const [one, two] = await Promise.all([start(join(folder, 'data')), start(join(folder, 'data'))]);
  expect([one.started, two.started]).toContain('attached');
  expect(one.url).toBe(two.url);

  symlinkSync(join(folder, 'data'), join(folder, 'link'));
  expect(await start(join(folder, 'link'))).toMatchObject({ started: 'attached', url: one.url });
});

test('the copy of a folder in use gets a server of its own', async () => {
  const folder = temporaryFolder();
  const [original, copy] = [join(folder, 'original'), join(folder, 'copy')];
  await (await start(original)).stop();
  execFileSync('cp', ['-a', original, copy]);
  const first = await start(original);
  execFileSync('cp', ['-a', pidFile(original), pidFile(copy)]); // as if copied while the server ran

  const second = await start(copy);
  expect(second.started).toBe('existing');
  expect(second.port).not.toBe(first.port);
});
