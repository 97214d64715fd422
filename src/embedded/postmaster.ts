/**
 * Starting, recognising and stopping the Postgres server process (the postmaster).
 *
 * It is detached, in a process group of its own: Ctrl-C in a terminal goes to our group only, so that we can finish
 * our work before we stop it. The price is that it would outlive us if we were killed. A watchdog pays it: a small
 * process, detached too, that holds the other end of a pipe of ours. The kernel closes the pipe however we end, and the
 * watchdog then stops the server. A clean stop ends both, and if the server ends by itself the watchdog goes with it.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, fstatSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Binaries } from './binaries.ts';
import { EmbeddedPostgresError } from './error.ts';
import type { Account } from './location.ts';

export interface Postmaster {
  readonly port: number;
  stop(): Promise<void>;
}

export interface Launch {
  readonly binaries: Binaries;
  readonly account: Account;
  readonly cluster: string;
  readonly log: string;
  readonly settings: Readonly<Record<string, string>>;
  /** A process number in postmaster.pid that is known to belong to some other program by now. */
  readonly formerPid: number | undefined;
}

const pollMs = 20;
const logLimitBytes = 10_000_000;

/** The server's own words for: another one has this directory, or still leaves it, or took the port just now. */
const taken =
  /lock file .* (already exists|is empty)|shared memory block .* still in use|address already in use/i;

/** Undefined if another process was faster; throws with the log's last lines if it cannot run at all. */
export async function launchPostmaster(launch: Launch): Promise<Postmaster | undefined> {
  const { binaries, account, cluster } = launch;
  const port = await findFreePort();
  rotate(launch.log);
  const log = openSync(launch.log, 'a', 0o600);
  const logStart = fstatSync(log).size;
  // Postgres takes a pid file for a live server's if any process has that number, which after a crash is common in a
  // container: all numbers are low and come again. It makes an exception for its own parents, and this is its way to be
  // told of another. Better than to delete the file: the file's other lines still let it find surviving backends.
  const env = { ...environment(), PG_GRANDPARENT_PID: launch.formerPid?.toString() };
  const settings = Object.entries({
    ...launch.settings,
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    'jobtree.owner': String(process.pid),
  });
  const watchdog = spawnWatchdog(binaries, cluster);
  await once(watchdog, 'spawn');
  const child = spawn(
    binaries.program('postgres'),
    ['-D', cluster, ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { ...account, cwd: '/', env, detached: true, stdio: ['ignore', log, log], windowsHide: true },
  );
  closeSync(log);
  if (child.pid === undefined) watchdog.kill('SIGKILL');
  else watchdog.stdin?.write(String(child.pid));
  await once(child, 'spawn');
  const ended = Promise.all([
    once(child, 'exit').then(() => watchdog.kill('SIGKILL')),
    once(watchdog, 'exit'),
  ]);

  // No time limit: after a crash, recovery takes as long as it takes. It either gets ready or ends.
  for (let file = readPidFile(cluster); ; file = readPidFile(cluster)) {
    if (file?.ready && file.pid === child.pid) break;
    if (hasEnded(child)) {
      await ended;
      const output = readFileSync(launch.log).subarray(logStart).toString();
      if (taken.test(output)) return undefined;
      throw new EmbeddedPostgresError(`The embedded Postgres did not start. ${quoteLog(launch.log)}`);
    }
    await delay(pollMs);
  }
  keepAliveFor(false, child, watchdog);

  return {
    port,
    async stop() {
      keepAliveFor(true, child, watchdog);
      if (!hasEnded(child)) shutDown(binaries, cluster, child.pid as number);
      await ended;
    },
  };
}

/**
 * A fast shutdown: open transactions roll back, connections close, a checkpoint is written. Windows has no signals
 * that a program could handle, so there pg_ctl does it (not tested).
 */
export function shutDown(binaries: Binaries, cluster: string, pid: number): void {
  try {
    if (process.platform === 'win32') execFileSync(binaries.program('pg_ctl'), pgCtlStop(cluster));
    else process.kill(pid, 'SIGINT');
  } catch (error) {
    // It may have ended by itself.
    if (isAlive(pid)) throw error;
  }
}

export interface PidFile {
  readonly pid: number;
  readonly port: number;
  readonly ready: boolean;
}

/** postmaster.pid: what the server tells about itself. A server that was killed leaves it behind. */
export function readPidFile(cluster: string): PidFile | undefined {
  try {
    const lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n');
    const pid = Number(lines[0]);
    return pid > 0 ? { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' } : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whether this process is a Postgres server on this directory. Undefined where only Postgres could tell. */
export function servesCluster(pid: number, cluster: string): boolean | undefined {
  if (process.platform !== 'linux') return undefined;
  const [program, ...rest] = commandLine(pid);
  return program !== undefined && basename(program) === 'postgres' && rest.includes(cluster);
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  return process.platform !== 'linux' || commandLine(pid).length > 0;
}

/** On Linux. Empty for a process that has ended, even if nobody has collected its exit status yet. */
function commandLine(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
  } catch {
    return [];
  }
}

/** Only what the programs need: our own environment may hold secrets, and they run under another account. */
export function environment(): NodeJS.ProcessEnv {
  const { PATH, LD_LIBRARY_PATH, SystemRoot } = process.env;
  return { PATH, LD_LIBRARY_PATH, SystemRoot, LC_ALL: 'C' };
}

export function quoteLog(log: string): string {
  if (!existsSync(log)) return '';
  const lines = readFileSync(log, 'utf8').trimEnd().split('\n').slice(-15);
  return `Its log, ${log}, ends with:\n  ${lines.join('\n  ')}`;
}

/** Source text, not a module: it must run the same from TypeScript sources and from compiled ones. */
function spawnWatchdog(binaries: Binaries, cluster: string): ChildProcess {
  const action =
    process.platform === 'win32'
      ? `require('node:child_process').execFileSync(${JSON.stringify(binaries.program('pg_ctl'))}, ${JSON.stringify(pgCtlStop(cluster))})`
      : "process.kill(Number(pid), 'SIGINT')";
  const source = `
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
    let pid = '';
    process.stdin.on('data', (text) => { pid += text; }).on('close', () => pid && ${action});`;
  return spawn(process.execPath, ['-e', source], {
    cwd: '/',
    env: environment(),
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    windowsHide: true,
  });
}

function pgCtlStop(cluster: string): string[] {
  return ['stop', '-D', cluster, '-m', 'fast'];
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** A program that is otherwise finished ends although its server runs; the watchdog then stops the server. */
function keepAliveFor(wanted: boolean, child: ChildProcess, watchdog: ChildProcess): void {
  const handles = [child, watchdog, watchdog.stdin as Socket];
  for (const handle of handles) wanted ? handle.ref() : handle.unref();
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('A TCP server without a port.');
  return address.port;
}

function rotate(log: string): void {
  const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  if (size > logLimitBytes) renameSync(log, `${log}.1`);
}
