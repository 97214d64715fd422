/**
 * Where the embedded Postgres keeps its files, and as whom it runs.
 *
 * An ordinary user: the wanted folder, as that user. Postgres refuses to run as root, so root hands it to the owner of
 * the files that are already there, else to `postgres`, else to `nobody`. That account must be able to walk to the
 * folder, which it cannot below a home directory of mode 0700: then the files go to
 *
 *     /var/lib/jobtree/<hash of the wanted path>      or, where that cannot be made (a read-only system),
 *     <temp directory>/jobtree-<hash>                 which may not survive a reboot
 *
 * and the caller, who gets the folder in use, is expected to name it.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { EmbeddedPostgresError } from './error.ts';

/** Fits the options of `spawn`; empty means the account of this process. */
export interface Account {
  readonly uid?: number;
  readonly gid?: number;
}

export interface Location {
  readonly folder: string;
  readonly account: Account;
}

/** The directory of the Postgres files (PGDATA) within the folder. */
export const clusterName = 'postgres';

export function chooseLocation(wantedFolder: string, rootFallbacks?: readonly string[]): Location {
  const wanted = resolve(wantedFolder);
  if (process.getuid?.() !== 0) {
    makeFolder(wanted);
    return { folder: wanted, account: {} };
  }
  const location = locateForRoot(wanted);
  if (location) return location;

  const hash = createHash('sha256').update(wanted).digest('hex').slice(0, 12);
  const fallbacks = rootFallbacks ?? [`/var/lib/jobtree/${hash}`, join(tmpdir(), `jobtree-${hash}`)];
  const refusals = [`${wanted}: cannot be reached by an account without rights`];
  for (const folder of fallbacks) {
    try {
      const fallback = locateForRoot(folder);
      // The temp directory is everybody's: what is there under our name need not be ours.
      if (fallback && lstatSync(folder).uid === 0) return fallback;
      refusals.push(`${folder}: cannot be reached either, or is not owned by root`);
    } catch (error) {
      refusals.push((error as Error).message);
    }
  }
  throw new EmbeddedPostgresError(
    `As root, jobtree found no folder for its embedded Postgres:\n  ${refusals.join('\n  ')}`,
  );
}

/** Makes the folder, but only where the account can use it; undefined elsewhere. */
function locateForRoot(folder: string): Location | undefined {
  const account = ownerOf(join(folder, clusterName)) ?? unprivilegedAccount();
  if (!canEnter(account, nearestExisting(dirname(folder)))) return undefined;
  makeFolder(folder);
  return canEnter(account, folder) ? { folder, account } : undefined;
}

function makeFolder(folder: string): void {
  try {
    const topmost = mkdirSync(folder, { recursive: true });
    if (topmost === undefined || process.getuid?.() !== 0) return;
    // Whatever root's umask says, the account must be able to walk through. The files themselves are 0700 below.
    for (let made = folder; made.length >= topmost.length; made = dirname(made)) chmodSync(made, 0o755);
  } catch (error) {
    throw new EmbeddedPostgresError(
      `Cannot create the data directory ${folder}: ${(error as Error).message}`,
    );
  }
}

function ownerOf(cluster: string): Account | undefined {
  if (!existsSync(cluster)) return undefined;
  const { uid, gid } = statSync(cluster);
  return uid === 0 ? undefined : { uid, gid };
}

/** From /etc/passwd and nowhere else: initdb wants an account that has an entry, not just any free number. */
function unprivilegedAccount(): Account {
  const entries = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of ['postgres', '_postgres', 'nobody']) {
    const entry = entries.find(([login]) => login === name);
    if (entry) return { uid: Number(entry[2]), gid: Number(entry[3]) };
  }
  throw new EmbeddedPostgresError(
    'Postgres does not run as root, and this system has no account "postgres" or "nobody" to run it as. Start jobtree as an ordinary user, or set DATABASE_URL.',
  );
}

/** Asks the kernel instead of reading mode bits, so that ACLs and mount options count too. */
export function canEnter(account: Account, folder: string): boolean {
  return (
    spawnSync('/bin/sh', ['-c', 'cd "$0"', folder], { ...account, cwd: '/', stdio: 'ignore' }).status === 0
  );
}

function nearestExisting(path: string): string {
  let found = path;
  while (!existsSync(found) && found !== dirname(found)) found = dirname(found);
  return found;
}
