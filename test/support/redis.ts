/**
 * Real Redis for tests. One serves the whole run: that of TEST_REDIS_URL, or a server from the PATH, on a free port. Tests
 * that stop, pause or configure it start one of their own.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './ports.ts';

export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** One command, over a connection of its own. */
  command(name: string, ...values: (string | number)[]): Promise<unknown>;
  /** Kills it as a crash would. */
  kill(): Promise<void>;
  /** On the same port, after a kill. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** The program: undefined if there is none. */
export function findRedis(): string | undefined {
  return ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0);
}

/** As root on Debian or Ubuntu, unless TEST_NO_INSTALL=1 forbids it. */
export function installRedis(): void {
  if (process.env.TEST_NO_INSTALL === '1' || process.getuid?.() !== 0) return;
  if (spawnSync('apt-get', ['--version']).status !== 0) return;
  console.log(
    'Installing redis-server for the tests (apt-get install redis-server; TEST_NO_INSTALL=1 forbids it).',
  );
  try {
    execFileSync('apt-get', ['update', '-qq'], { stdio: 'ignore' });
    execFileSync('apt-get', ['install', '-qq', '-y', '--no-install-recommends', 'redis-server'], {
      stdio: 'ignore',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  } catch (error) {
    console.log(`It could not be installed: ${(error as Error).message}`);
  }
}

/** With `port 0` in the settings (as for TLS alone), the port must be among them, and be given here. */
export async function startRedis(
  settings: readonly string[] = [],
  options: { port?: number; sentinel?: boolean; password?: string } = {},
): Promise<RedisServer> {
  const program = findRedis();
  if (program === undefined) throw new Error('There is no redis-server.');
  const directory = await mkdtemp(join(tmpdir(), 'jobtree-redis-'));
  const port = options.port ?? (await freePort());
  const own = options.sentinel
    ? [...settings]
    : ['--port', String(port), '--save', '', '--appendonly', 'no', ...settings];
  let child: ChildProcess;
  const start = async () => {
    child = spawn(program, [...own, '--bind', '127.0.0.1', '--dir', directory], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    await new Promise<void>((resolve, reject) => {
      child.stdout?.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        if (/Ready to accept connections|monitor master/.test(output)) resolve();
      });
      child.once('exit', () => reject(new Error(`Redis ended:\n${output}`)));
    });
  };
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  };
  await start();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    command: async (name, ...values) => {
      const redis = new Redis(port, '127.0.0.1', {
        retryStrategy: null,
        ...(options.password === undefined ? {} : { password: options.password }),
      });
      redis.on('error', () => undefined);
      try {
        return await redis.call(name, ...values);
      } finally {
        redis.disconnect();
      }
    },
    kill: () => end('SIGKILL'),
    restart: start,
    stop: async () => {
      await end('SIGKILL');
      await rm(directory, { recursive: true, force: true });
    },
  };
}
