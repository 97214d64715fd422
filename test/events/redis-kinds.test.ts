/** What Redis can be: behind sentinels, a cluster, with users and their rules, with TLS; and Valkey, where there is one. */
import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/ports.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';
import { announce, createTransport, type TestTransport, until } from '../support/transport.ts';

const withoutOpenssl = spawnSync('openssl', ['version']).status !== 0 && process.env.CI !== 'true';

describe.skipIf(!inject('redisProgram'))('Redis', () => {
  let db: TestDatabase;
  let directory: string;
  const servers: RedisServer[] = [];
  const transports: TestTransport[] = [];
  beforeEach(async () => {
    db = await createDatabase();
    directory = await mkdtemp(join(tmpdir(), 'jobtree-kinds-'));
  });
  afterEach(async () => {
    await Promise.all(transports.splice(0).map(({ transport }) => transport.close()));
    await Promise.all(servers.splice(0).map((server) => server.stop()));
    await rm(directory, { recursive: true });
    await db.drop();
  });

  async function redis(...values: Parameters<typeof startRedis>): Promise<RedisServer> {
    const server = await startRedis(...values);
    servers.push(server);
    return server;
  }

  async function start(url: string): Promise<TestTransport> {
    const started = createTransport(db.url, { REDIS_URL: url });
    transports.push(started);
    await started.transport.start();
    return started;
  }

  async function deliver(...watching: TestTransport[]): Promise<void> {
    for (const { transport } of watching) await until('on Redis', () => transport.route === 'redis');
    const root = randomUUID();
    for (const { transport } of watching) await transport.join(root);
    await announce(db, root, 1);
    for (const { trees } of watching) await until('told', () => trees.some((tree) => tree.root === root));
  }

  it('works with a user that has only the necessary rights', async () => {
    const server = await redis();
    const rules = '>secret resetchannels &jobtree:* resetkeys -@all +ping +publish +subscribe +unsubscribe';
    await server.command('acl', 'setuser', 'jobtree', 'on', ...rules.split(' '));
    const url = `redis://jobtree:secret@127.0.0.1:${server.port}`;
    await deliver(await start(url), await start(url));
    // Giving the connection its name is all that was refused, if anything.
    const refused = JSON.stringify(await server.command('acl', 'log'));
    expect(refused.match(/"object","(?!client\|setname)[^"]*"/g) ?? []).toEqual([]);
  });

  it('works with a password alone, and with the number of a database', async () => {
    const server = await redis(['--requirepass', 'p:w/d@'], { password: 'p:w/d@' });
    await deliver(await start(`redis://:${encodeURIComponent('p:w/d@')}@127.0.0.1:${server.port}/3`));
  });

  it('works as a cluster of which some named nodes are gone', async () => {
    const node = await redis(['--cluster-enabled', 'yes', '--cluster-port', String(await freePort())]);
    await node.command('cluster', 'addslotsrange', 0, 16383);
    const url = `redis+cluster://127.0.0.1:${await freePort()},127.0.0.1:${node.port}`;
    await deliver(await start(url), await start(url));
  });

  it('works as a cluster of two nodes: servers at different nodes hear each other', async () => {
    const [a, b] = await Promise.all([clusterNode(), clusterNode()]);
    await a.node.command('cluster', 'addslotsrange', 0, 8191);
    await b.node.command('cluster', 'addslotsrange', 8192, 16383);
    await a.node.command('cluster', 'meet', '127.0.0.1', b.node.port, b.bus);
    await until('one cluster', async () =>
      /cluster_known_nodes:2/.test(String(await b.node.command('cluster', 'info'))),
    );
    await until('linked', async () =>
      [a, b].every(async ({ node }) => !/disconnected/.test(String(await node.command('cluster', 'nodes')))),
    );
    await deliver(
      await start(`redis+cluster://127.0.0.1:${a.node.port}`),
      await start(`redis+cluster://127.0.0.1:${b.node.port}`),
      await start(`redis+cluster://127.0.0.1:${b.node.port}`),
    );
  });

  async function clusterNode(): Promise<{ node: RedisServer; bus: number }> {
    const bus = await freePort();
    return { node: await redis(['--cluster-enabled', 'yes', '--cluster-port', String(bus)]), bus };
  }

  it('works with sentinels: the master that they name, and the next one after a failover', async () => {
    const master = await redis();
    const replica = await redis(['--replicaof', '127.0.0.1', String(master.port)]);
    await until('replicated', async () =>
      /master_link_status:up/.test(String(await replica.command('info', 'replication'))),
    );
    const port = await freePort();
    const file = join(directory, 'sentinel.conf');
    await writeFile(
      file,
      [
        `port ${port}`,
        `sentinel monitor mymaster 127.0.0.1 ${master.port} 1`,
        'sentinel down-after-milliseconds mymaster 500',
        'sentinel failover-timeout mymaster 2000',
      ].join('\n'),
    );
    const sentinel = await redis([file, '--sentinel'], { port, sentinel: true });
    await until('known', async () =>
      String(await sentinel.command('sentinel', 'replicas', 'mymaster')).includes(String(replica.port)),
    );
    const url = `redis+sentinel://127.0.0.1:${await freePort()},127.0.0.1:${port}/mymaster`;
    const [a, b] = [await start(url), await start(url)];
    await deliver(a, b);
    await master.kill();
    await until('failed over', async () =>
      String(await sentinel.command('sentinel', 'get-master-addr-by-name', 'mymaster')).includes(
        String(replica.port),
      ),
    );
    // What is said while they change over is lost, and announced as a resync; so say it until they are there.
    const root = randomUUID();
    for (const { transport } of [a, b]) await transport.join(root);
    let said = 0;
    for (const { trees, transport } of [a, b]) {
      await until('told by the new master', async () => {
        await announce(db, root, said++);
        return transport.route === 'redis' && trees.some((tree) => tree.root === root);
      });
    }
    expect(String(await replica.command('pubsub', 'channels', `*${root}`))).toContain(root);
  });

  it.skipIf(withoutOpenssl)(
    'works with TLS, and a certificate that Node.js trusts by a setting',
    async () => {
      const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
      execFileSync(
        'openssl',
        // biome-ignore format: one command
        ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost',
       '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', key, '-out', certificate],
        { stdio: 'ignore' },
      );
      expect(await readFile(certificate, 'utf8')).toContain('CERTIFICATE');
      const port = await freePort();
      await redis(
        // biome-ignore format: pairs
        ['--port', '0', '--tls-port', String(port), '--tls-cert-file', certificate, '--tls-key-file', key,
       '--tls-ca-cert-file', certificate, '--tls-auth-clients', 'no'],
        { port },
      );
      const stranger = await start(`rediss://localhost:${port}`);
      await until('refused', () => /self-signed certificate/.test(stranger.log()));
      expect(stranger.transport.route).toBe('notify');

      let server: ServerProcess | undefined;
      try {
        server = await startServerProcess(db.url, {
          REDIS_URL: `rediss://localhost:${port}`,
          NODE_EXTRA_CA_CERTS: certificate,
        });
        const ready = new URL('/readyz', server.url);
        await until('on Redis', async () => (await (await fetch(ready)).text()).includes('redis'));
      } finally {
        await server?.end();
      }
    },
  );
});
