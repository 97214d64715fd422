/**
 * Another release of jobtree, built: that of TEST_PREVIOUS_RELEASE, a git ref or the path of a tarball of `npm pack`; else the most recent tag `v…`
 * of the repository. It runs with the packages that are installed here.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const repository = resolve(import.meta.dirname, '../..');

export interface Release {
  /** What it was made from. */
  readonly name: string;
  readonly directory: string;
  /** The program. */
  readonly cli: string;
  readonly migrations: string;
  /** The library, to be imported. */
  readonly client: string;
  remove(): void;
}

/** What to test against, or why there is nothing. */
export function findPreviousRelease(): { source: string } | { reason: string } {
  const given = process.env.TEST_PREVIOUS_RELEASE;
  if (given) return { source: given };
  const { status, stdout } = spawnSync('git', ['describe', '--tags', '--abbrev=0', '--match', 'v*'], {
    cwd: repository,
    encoding: 'utf8',
  });
  if (status === 0) return { source: stdout.trim() };
  return { reason: 'no release is tagged yet: name a git ref or a tarball in TEST_PREVIOUS_RELEASE' };
}

export function buildRelease(source: string): Release {
  const parent = mkdtempSync(join(tmpdir(), 'jobtree-release-'));
  const remove = () => rmSync(parent, { recursive: true, force: true });
  try {
    const directory = existsSync(source) ? unpack(source, parent) : checkOut(source, parent);
    return {
      name: source,
      directory,
      cli: join(directory, 'dist/cli/main.js'),
      migrations: join(directory, 'prisma/migrations'),
      client: join(directory, 'dist/client/index.js'),
      remove,
    };
  } catch (error) {
    remove();
    throw error;
  }
}

function unpack(tarball: string, parent: string): string {
  execFileSync('tar', ['-xf', resolve(tarball), '-C', parent]);
  const directory = join(parent, 'package');
  linkPackages(directory);
  return directory;
}

function checkOut(ref: string, parent: string): string {
  const tarball = execFileSync('git', ['archive', '--format=tar', '--prefix=package/', ref], {
    cwd: repository,
    maxBuffer: 1_000_000_000,
  });
  execFileSync('tar', ['-x', '-C', parent], { input: tarball });
  const directory = join(parent, 'package');
  linkPackages(directory);
  execFileSync(
    process.execPath,
    [join(repository, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json'],
    {
      cwd: directory,
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  );
  return directory;
}

function linkPackages(directory: string): void {
  symlinkSync(join(repository, 'node_modules'), join(directory, 'node_modules'));
}
