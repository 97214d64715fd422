/** Three jobtree servers with one Redis. Redis or Valkey must be on the PATH. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Bench } from './bench.ts';
import { atEnd } from './closers.ts';
import type { Database } from './postgres.ts';
import { type Server, startServer } from './server.ts';

export interface Cluster {
  readonly database: Database;
  readonly servers: readonly Server[];
}

/** New servers on a new database, for the time of a measurement. */
export async function withCluster<T>(
  { postgres }: Bench,
  count: number,
  use: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const redis = await startRedis();
  const database = await postgres.createDatabase('bench_cluster');
  const servers: Server[] = [];
  try {
    for (let i = 0; i < count; i++) servers.push(await startServer(database.url, { redisUrl: redis.url }));
    for (const { url } of servers) await overRedis(url);
    return await use({ database, servers });
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await database.drop();
    await redis.stop();
  }
}

async function startRedis(): Promise<{ url: string; stop(): Promise<void> }> {
  const port = await freePort();
  const child = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', ''], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGTERM');
    await exited;
  };
  await once(child, 'spawn');
  atEnd(stop);
  for await (const chunk of child.stdout) if (String(chunk).includes('Ready to accept')) break;
  return { url: `redis://127.0.0.1:${port}`, stop };
}

async function overRedis(url: string): Promise<void> {
  while (!(await (await fetch(new URL('/readyz', url))).text()).includes('redis'))
    await new Promise((resolve) => setTimeout(resolve, 100));
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  return port;
}
