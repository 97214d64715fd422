/** Root cannot run Postgres, others can. Most of this can only be tried as root. */
import { chownSync, cpSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { installedBinaries, prepareBinaries } from '../../src/embedded/binaries.ts';
import { canEnter, chooseLocation } from '../../src/embedded/location.ts';
import { isRoot, pidFile, query, start, startOwner, temporaryFolder } from './support.ts';

const NOBODY = { uid: 65534, gid: 65534 };

describe.skipIf(!isRoot)('started by root', () => {
  it('it runs as an account without rights, in the requested folder if that can be reached', async () => {
    const folder = join(temporaryFolder(), 'new', '.jobtree');
    const previous = process.umask(0o077);
    try {
      expect(await start(folder)).toMatchObject({ dataDirectory: folder, started: 'fresh' });
    } finally {
      process.umask(previous);
    }
    expect(statSync(join(folder, 'postgres')).uid).toBe(chooseLocation(folder).account.uid);
    expect(statSync(join(folder, 'postgres')).uid).not.toBe(0);
  });

  it("it uses the first working fallback if the requested folder can't be reached, and says so", async () => {
    const folder = temporaryFolder();
    const home = join(folder, 'home');
    mkdirSync(home, { mode: 0o700 });
    const wanted = join(home, '.jobtree');
    const fallback = join(folder, 'fallback');

    const options = { rootFallbacks: [join(folder, 'x'.repeat(300)), fallback] };
    expect(await start(wanted, options)).toMatchObject({ dataDirectory: fallback, started: 'fresh' });
    expect(existsSync(wanted)).toBe(false);
    expect(existsSync(join(fallback, 'postgres'))).toBe(true);
    await expect(start(wanted, { rootFallbacks: [] })).rejects.toThrow(`${wanted}: cannot be reached`);
  });

  it('it does not use a fallback that somebody else prepared', () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'home'), { mode: 0o700 });
    mkdirSync(join(folder, 'trap'));
    chownSync(join(folder, 'trap'), NOBODY.uid, NOBODY.gid);
    expect(() => chooseLocation(join(folder, 'home', 'x'), [join(folder, 'trap')])).toThrow(
      'not owned by root',
    );
  });

  it("it copies programs that the account can't reach", () => {
    const folder = temporaryFolder();
    const hidden = join(folder, 'hidden');
    mkdirSync(hidden, { mode: 0o700 });
    cpSync(join(installedBinaries(), '..'), hidden, { recursive: true, verbatimSymlinks: true });

    const { account } = chooseLocation(folder);
    const copied = prepareBinaries(join(hidden, 'native'), folder, account);
    expect(copied.majorVersion).toBe('18');
    expect(copied.program('initdb').startsWith(hidden)).toBe(false);
    const modified = statSync(copied.program('initdb')).mtimeMs;
    expect(statSync(prepareBinaries(join(hidden, 'native'), folder, account).program('initdb')).mtimeMs).toBe(
      modified,
    );
  });
});

describe.skipIf(!isRoot || !canEnter(NOBODY, import.meta.dirname))('started by an ordinary user', () => {
  it('it runs as that user, also when root starts it later', async () => {
    const parent = temporaryFolder();
    chownSync(parent, NOBODY.uid, NOBODY.gid);
    const folder = join(parent, '.jobtree');
    const owner = await startOwner(folder, NOBODY);
    expect(owner).toMatchObject({ started: 'fresh', dataDirectory: folder });
    expect(await query(owner.url, 'SELECT 1')).toEqual([1]);
    expect(statSync(pidFile(folder)).uid).toBe(NOBODY.uid);
    await owner.stop();

    expect((await start(folder)).started).toBe('existing');
    expect(statSync(pidFile(folder)).uid).toBe(NOBODY.uid);
  });

  it("it says which folder that user can't create", async () => {
    const folder = join(temporaryFolder(), '.jobtree');
    await expect(startOwner(folder, NOBODY)).rejects.toThrow(
      `Cannot create the data directory ${folder}: EACCES`,
    );
  });
});
