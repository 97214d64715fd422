/** Several jobtree servers with one Redis. Redis or Valkey must be on the PATH. */
import type { Bench } from './bench.ts';
import type { Database } from './postgres.ts';
import { startRedis } from './redis.ts';
import { type Server, startServer } from './server.ts';

export interface Cluster {
  readonly database: Database;
  readonly servers: readonly Server[];
}

/** Runs new servers on a new database for the time of a measurement. */
export async function withCluster<T>(
  { postgres }: Bench,
  count: number,
  use: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const redis = await startRedis(postgres.directory);
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

async function overRedis(url: string): Promise<void> {
  while (!(await (await fetch(new URL('/readyz', url))).text()).includes('redis'))
    await new Promise((resolve) => setTimeout(resolve, 100));
}
