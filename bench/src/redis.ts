/** A separate Redis that stores nothing on disk. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { atEnd } from './closers.ts';

export interface Redis {
  readonly url: string;
  stop(): Promise<void>;
}

/** Rejects if redis-server can't be started. */
export async function startRedis(directory: string): Promise<Redis> {
  const port = await freePort();
  const child = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', directory],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const ended = new Promise<never>((_, reject) => {
    child.once('error', (error) => reject(new Error(`redis-server can't be started: ${error.message}`)));
    child.once('exit', (code) => reject(new Error(`redis-server ended with ${code}.`)));
  });
  ended.catch(() => {});
  const stop = async () => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  atEnd(stop);
  const ready = new Promise<void>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (/ready to accept connections/i.test(line)) resolve();
    });
  });
  await Promise.race([ready, ended]);
  return { url: `redis://127.0.0.1:${port}`, stop };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
