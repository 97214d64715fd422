/** Temporary folders, servers and programs that own one, and the proof that a test leaves none of them behind. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { buildSync } from 'esbuild';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { isAlive } from '../../src/embedded/postmaster.ts';
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from '../../src/embedded/start.ts';
import { eventually } from '../support/eventually.ts';

export const isRoot = process.getuid?.() === 0;

/** For data that must survive a process, but not the machine. */
const FAST = { fsync: 'off', full_page_writes: 'off', shared_buffers: '16MB' };

/** Everybody may enter it. At the end of the test no process may use it any more. */
export function temporaryFolder(): string {
  return makeFolder(onTestFinished);
}

/** The same for all tests of a file, which saves each of them the second that it takes to make the server's files. */
export function sharedFolder(): string {
  return makeFolder(afterAll);
}

function makeFolder(atTheEnd: (cleanUp: () => Promise<void>) => void): string {
  const folder = mkdtempSync(join(tmpdir(), 'jobtree-embedded-'));
  chmodSync(folder, 0o755);
  atTheEnd(async () => {
    try {
      await eventually(() => expect(processesNaming(folder)).toEqual([]));
    } finally {
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  });
  return folder;
}

/** In this process. */
export async function start(
  dataDirectory: string,
  options: Partial<EmbeddedPostgresOptions> = {},
): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({ dataDirectory, settings: FAST, ...options });
  onTestFinished(() => postgres.stop());
  return postgres;
}

export interface Owner extends Pick<EmbeddedPostgres, 'url' | 'dataDirectory' | 'started'> {
  process: ChildProcess;
  pid: number;
  lines: Interface;
  /** A clean stop. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

/** In JavaScript, so that no process needs to translate it; here, from where it finds its packages. */
const ownerProgram = join(import.meta.dirname, `.owner-${process.pid}.mjs`);
beforeAll(() => {
  buildSync({
    entryPoints: [join(import.meta.dirname, 'owner.ts')],
    outfile: ownerProgram,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
  });
});
afterAll(() => rmSync(ownerProgram, { force: true }));

/** In a process of its own, which the test may kill. */
export async function startOwner(
  dataDirectory: string,
  spawnOptions: SpawnOptions = {},
  ...manner: 'forgetful'[]
): Promise<Owner> {
  const options = JSON.stringify({ dataDirectory, settings: FAST });
  const child = spawn(process.execPath, [ownerProgram, options, ...manner], {
    stdio: ['pipe', 'pipe', 'pipe'],
    ...spawnOptions,
  });
  const exit = once(child, 'exit');
  let complaint = '';
  child.stderr?.on('data', (text) => {
    complaint += text;
  });
  const end = async (how: () => void) => {
    if (child.exitCode === null && child.signalCode === null) how();
    await exit;
  };
  onTestFinished(() => end(() => child.kill('SIGKILL')));

  if (!child.stdout) throw new Error('the program has an output');
  const lines = createInterface({ input: child.stdout });
  const failure = exit.then(() => Promise.reject(new Error(`ended before it was ready: ${complaint}`)));
  const [line] = await Promise.race([once(lines, 'line'), failure]);
  failure.catch(() => {}); // an end is expected from here on
  return {
    ...JSON.parse(line),
    process: child,
    pid: child.pid,
    lines,
    stop: () => end(() => child.stdin?.end()),
    kill: () => end(() => child.kill('SIGKILL')),
  };
}

export async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const result = await client.query({ text: sql, rowMode: 'array' });
    return result.rows.flat();
  } finally {
    await client.end();
  }
}

export function pidFile(folder: string): string {
  return join(folder, 'postgres', 'postmaster.pid');
}

export function serverPid(folder: string): number {
  return Number.parseInt(readFileSync(pidFile(folder), 'utf8'), 10);
}

export async function expectGone(...pids: number[]): Promise<void> {
  await eventually(() => expect(pids.filter(isAlive)).toEqual([]));
}

/** On Linux: the processes that this one started and that live: server, watchdog. */
export function childrenOf(parent: number): number[] {
  return processes().filter((pid) => {
    try {
      // pid (name) state parent …: the name may hold anything, so read from its closing parenthesis on.
      return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1] === String(parent);
    } catch {
      return false;
    }
  });
}

function processesNaming(folder: string): string[] {
  return processes().flatMap((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return command.includes(folder) ? [command] : [];
    } catch {
      return [];
    }
  });
}

function processes(): number[] {
  if (!existsSync('/proc')) return [];
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0);
}
