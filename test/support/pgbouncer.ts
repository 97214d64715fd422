/** PgBouncer in transaction mode before a database. Without one on the PATH its tests are skipped, but never in CI. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './ports.ts';

export const withoutPgbouncer =
  spawnSync('pgbouncer', ['--version']).status !== 0 && process.env.CI !== 'true';
if (withoutPgbouncer) console.log('Tests with PgBouncer are skipped: install pgbouncer.');

export async function startPgbouncer(databaseUrl: string): Promise<{ url: string; stop(): Promise<void> }> {
  const target = new URL(databaseUrl);
  const directory = await mkdtemp(join(tmpdir(), 'jobtree-pgbouncer-'));
  // It refuses to run as root, and the user that it changes to must read this.
  await chmod(directory, 0o755);
  const port = await freePort();
  const users = join(directory, 'users.txt');
  const file = join(directory, 'pgbouncer.ini');
  const password = decodeURIComponent(target.password);
  await writeFile(users, `"${target.username}" "${password}"\n`);
  await writeFile(
    file,
    [
      '[databases]',
      `* = host=${target.hostname} port=${target.port}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'pool_mode = transaction',
      'auth_type = plain',
      `auth_file = ${users}`,
      'default_pool_size = 8',
    ].join('\n'),
  );
  const asUser = process.getuid?.() === 0 ? ['--user', 'nobody'] : [];
  const child = spawn('pgbouncer', [...asUser, file], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        if (output.includes('process up')) resolve();
      });
    }
    child.once('exit', () => reject(new Error(`PgBouncer ended:\n${output}`)));
  });
  const url = new URL(databaseUrl);
  url.port = String(port);
  return {
    url: url.href,
    stop: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
      await rm(directory, { recursive: true });
    },
  };
}
