/** A Postgres server with its own `pg_dump` and `pg_restore`, from what the machine has installed: the embedded one comes without them. */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from './ports.ts';

export interface InstalledPostgres {
  /** The process that is the parent of all others. */
  readonly pid: number;
  /** The URL of a database. */
  url(database: string): string;
  /** Runs one of its programs to its end. */
  run(program: string, args: readonly string[]): Promise<unknown>;
  /** What it has logged so far. */
  log(): string;
  stop(): Promise<void>;
}

/** The folder of the newest one's programs. */
export function findPostgresPrograms(): string | undefined {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).map(Number).filter(Number.isInteger) : [];
  return versions
    .sort((a, b) => b - a)
    .map((version) => join(root, `${version}`, 'bin'))
    .find((bin) =>
      ['initdb', 'postgres', 'pg_dump', 'pg_restore'].every((name) => existsSync(join(bin, name))),
    );
}

export async function startInstalledPostgres(
  bin: string,
  more: Readonly<Record<string, string>> = {},
  standby = false,
): Promise<InstalledPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'jobtree-postgres-'));
  // Postgres refuses to run as root.
  const account = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {};
  if (account.uid !== undefined) chownSync(folder, account.uid, account.gid as number);
  const data = join(folder, 'data');
  const initdb = ['-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale', 'C'];
  await promisify(execFile)(join(bin, 'initdb'), initdb, account);
  // It follows nobody, and waits to be promoted.
  if (standby) writeFileSync(join(data, 'standby.signal'), '');
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    port: `${port}`,
    ...more,
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const server = spawn(join(bin, 'postgres'), ['-D', data, ...options], {
    ...account,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  server.stderr.on('data', (chunk: Buffer) => {
    log += chunk.toString();
  });
  const url = (database: string) => `postgres://postgres@127.0.0.1:${port}/${database}`;
  await untilReady(server, () => log, url('postgres'));
  return {
    pid: server.pid as number,
    url,
    log: () => log,
    run: (program, args) => promisify(execFile)(join(bin, program), [...args]),
    stop: async () => {
      server.kill('SIGINT');
      await once(server, 'exit');
      await rm(folder, { recursive: true });
    },
  };
}

function idOf(option: string): number {
  for (const name of ['postgres', 'nobody'])
    try {
      return Number(execFileSync('id', [option, name], { stdio: 'pipe' }).toString());
    } catch {
      // There is no such user.
    }
  throw new Error('There is no user that may run Postgres.');
}

async function untilReady(server: ChildProcess, log: () => string, connectionString: string): Promise<void> {
  for (;;) {
    if (server.exitCode !== null) throw new Error(`Postgres ended with ${server.exitCode}:\n${log()}`);
    const client = new pg.Client({ connectionString });
    try {
      await client.connect();
      await client.end();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
