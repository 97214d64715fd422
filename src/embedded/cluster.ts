/**
 * The files of the server: made once, complete or not at all.
 *
 * initdb takes a second and may be killed half-way, or run in several processes at once. So it works in a directory of
 * its own, which gets its real name in one step when everything is there, the password included. Whoever comes second
 * takes what the first one made.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Binaries } from './binaries.ts';
import { EmbeddedPostgresError } from './error.ts';
import type { Account } from './location.ts';
import { environment, isAlive } from './postmaster.ts';

export const superuser = 'postgres';

const passwordName = 'jobtree.password';
const unfinishedInfix = '.unfinished-';

/** True if this call made it. `durable`: on disk for sure before it is used. */
export async function createCluster(
  binaries: Binaries,
  account: Account,
  cluster: string,
  durable: boolean,
): Promise<boolean> {
  removeAbandoned(cluster);
  if (existsSync(cluster)) return false;
  const unfinished = mkdtempSync(`${cluster}${unfinishedInfix}${process.pid}-`);
  try {
    const password = join(unfinished, passwordName);
    writeFileSync(password, randomBytes(24).toString('base64url'), { mode: 0o600 });
    for (const path of [unfinished, password]) give(path, account);
    const files = join(unfinished, 'files');
    await runInitdb(binaries, account, files, password, durable);
    renameSync(password, join(files, passwordName));
    renameSync(files, cluster);
    if (durable) for (const directory of [cluster, dirname(cluster)]) syncDirectory(directory);
    return true;
  } catch (error) {
    if (existsSync(cluster)) return false;
    throw error;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** Throws unless these programs can serve these files. */
export function checkVersion(cluster: string, binaries: Binaries): void {
  const version = readOwn(cluster, 'PG_VERSION').trim();
  if (version === binaries.majorVersion) return;
  throw new EmbeddedPostgresError(
    `${cluster} was created by Postgres ${version}, but the embedded one is Postgres ${binaries.majorVersion}. ` +
      `Set JOBTREE_DATA_DIR to another directory, or run this one with Postgres ${version} and set DATABASE_URL.`,
  );
}

export function readPassword(cluster: string): string {
  return readOwn(cluster, passwordName);
}

function readOwn(cluster: string, file: string): string {
  try {
    return readFileSync(join(cluster, file), 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EACCES') {
      throw new EmbeddedPostgresError(`${cluster} belongs to another user: start jobtree as that user.`);
    }
    if (code === 'ENOENT') {
      throw new EmbeddedPostgresError(
        `${cluster} was not created by jobtree: it has no ${file}. Set JOBTREE_DATA_DIR to another directory.`,
      );
    }
    throw new EmbeddedPostgresError(`Cannot read the embedded Postgres: ${message}`);
  }
}

async function runInitdb(
  binaries: Binaries,
  account: Account,
  files: string,
  passwordFile: string,
  durable: boolean,
): Promise<void> {
  const sync = process.platform === 'linux' ? '--sync-method=syncfs' : '--sync-method=fsync';
  const options = [
    ...['-D', files, '-U', superuser, '--auth=scram-sha-256', `--pwfile=${passwordFile}`],
    // Sorts and folds case by Unicode's own tables, so the same on every system, whatever locales that has.
    ...['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'],
    durable ? sync : '--no-sync',
  ];
  try {
    await promisify(execFile)(binaries.program('initdb'), options, {
      ...account,
      cwd: '/',
      env: environment(),
      windowsHide: true,
    });
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    throw new EmbeddedPostgresError(`Cannot create the embedded Postgres: ${stderr?.trim() || message}`);
  }
}

/** What processes left that were killed during initdb. */
function removeAbandoned(cluster: string): void {
  const prefix = basename(cluster) + unfinishedInfix;
  for (const name of readdirSync(dirname(cluster))) {
    if (!name.startsWith(prefix) || isAlive(Number.parseInt(name.slice(prefix.length), 10))) continue;
    rmSync(join(dirname(cluster), name), { recursive: true, force: true, maxRetries: 3 });
  }
}

function give(path: string, account: Account): void {
  if (account.uid !== undefined && account.gid !== undefined) chownSync(path, account.uid, account.gid);
}

/** Makes a new name last: a file that is on disk is lost if the entry that names it is not. */
function syncDirectory(directory: string): void {
  // It can't be asked for there.
  if (process.platform === 'win32') return;
  const handle = openSync(directory, 'r');
  fsyncSync(handle);
  closeSync(handle);
}
