/** Three servers with one Redis and one Postgres, each behind a network of its own, and what can happen to them. */
import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/embedded/start.ts';
import { serverPid } from '../embedded/support.ts';
import { freePort } from '../support/ports.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';

const settings = { fsync: 'off', full_page_writes: 'off', max_connections: '160' };
/** Three seconds, and what a busy machine adds. */
const goBackWithinMs = 20_000;
const bridging = 'passing notifications on to Redis';

/** A server, with a network of its own to Postgres and Redis. */
export interface Node {
  readonly port: string;
  readonly url: string;
  readonly toPostgres: TcpProxy;
  readonly toRedis: TcpProxy;
  process: ServerProcess;
}

export type Fault = readonly [name: string, happen: () => Promise<void>];

export class Fleet {
  readonly nodes: Node[] = [];
  redis!: RedisServer;
  #postgres!: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
  readonly #folder: string;
  readonly #processes: number;

  /** `processes`: of each server, which are several from 2 on, with a primary besides. */
  constructor(options: { folder: string; processes: number }) {
    this.#folder = options.folder;
    this.#processes = options.processes;
  }

  async start(): Promise<void> {
    this.#postgres = await startEmbeddedPostgres({ dataDirectory: this.#folder, settings });
    this.redis = await startRedis();
    for (let i = 0; i < 3; i++) {
      const port = String(await freePort());
      const parts = {
        port,
        url: `http://127.0.0.1:${port}/graphql`,
        toPostgres: await startProxy(this.#postgres.url),
        toRedis: await startProxy(this.redis.url),
      };
      this.nodes.push({ ...parts, process: await this.#startNode(parts) });
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map(({ process }) => process.end('SIGKILL')));
    const proxies = this.nodes.flatMap(({ toPostgres, toRedis }) => [toPostgres, toRedis]);
    await Promise.all(proxies.map((proxy) => proxy.close()));
    await this.redis?.stop();
    await this.#postgres?.stop();
  }

  isUp(index: number): boolean {
    const { exitCode, signalCode } = (this.nodes[index] as Node).process.process;
    return exitCode === null && signalCode === null;
  }

  async query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    const client = await this.#connect();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  faults(options: { long: boolean; packetFilter: boolean }): Fault[] {
    const faults: Fault[] = [
      ['a server killed', () => this.#restart(this.#some(), 'SIGKILL')],
      ['a server shut down and started again', () => this.#restart(this.#some(), 'SIGTERM')],
      ['the relay killed', () => this.#killRelay()],
      ['the relay stopped for 4 s', () => stopFor(4_000, [this.#relay().pid])],
      ['Redis paused for 3 s', () => this.#pauseRedis(3_000)],
      ['Redis flushed', async () => void (await this.redis.command('FLUSHALL'))],
      ['Redis killed and started again', () => this.#restartRedis()],
      // Everybody has to be up to date again while it is away, and once more when it is back.
      ['the wall clocks step by an hour as Redis dies', () => this.#stepClocks()],
      ['Redis, which died as the wall clocks stepped, started again', () => this.redis.restart()],
      ['Postgres restarted without a shutdown', () => this.#restartPostgres()],
      ['all connections ended by Postgres', () => this.#terminateConnections()],
      ['a server cut off from Postgres and Redis, without a reset, for 4 s', () => this.#cutOff(4_000)],
    ];
    if (this.#processes > 1) faults.push(['a process of a server killed', () => this.#killProcess()]);
    if (options.long) {
      faults.push(
        ['a server stopped for 4 s', () => stopFor(4_000, this.#pids(this.#some()))],
        ['Postgres read-only for 3 s', () => this.#readOnly(3_000)],
        ['no free connection of Postgres for 3 s', () => this.#takeConnections(3_000)],
      );
    }
    if (options.packetFilter)
      faults.push([
        'the connections of a server to Postgres and Redis cut by a packet filter',
        async () => {
          const { toPostgres, toRedis } = this.#some();
          dropPackets([toPostgres.url, toRedis.url].map((url) => new URL(url).port));
        },
      ]);
    return faults;
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.#postgres.url });
    client.on('error', () => {});
    await client.connect();
    return client;
  }

  #startNode(node: Omit<Node, 'process'>): Promise<ServerProcess> {
    const env = {
      REDIS_URL: node.toRedis.url,
      JOBTREE_PORT: node.port,
      JOBTREE_LOG_LEVEL: 'info',
      JOBTREE_SHUTDOWN_TIMEOUT_MS: '1000',
      NODE_OPTIONS: `--import ${new URL('wall-clock.mjs', import.meta.url).href}`,
    };
    return startServerProcess(node.toPostgres.url, env, ['--processes', String(this.#processes)]);
  }

  #some(): Node {
    return this.nodes[Math.floor(Math.random() * this.nodes.length)] as Node;
  }

  /** Of the processes that serve. */
  #pids({ process: { process } }: Node): number[] {
    const { pid = 0 } = process;
    if (this.#processes === 1) return [pid];
    const children = execFileSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' });
    return children.trim().split('\n').map(Number);
  }

  /** The process that has this role, as far as the logs tell. */
  #relay(): { node: Node; pid: number } {
    for (const node of this.nodes) {
      const lines = node.process.output().split('\n');
      const said = lines.filter((line) => line.includes(bridging)).map((line) => JSON.parse(line).pid);
      const pid = said.findLast(isRunning);
      if (pid !== undefined) return { node, pid };
    }
    const node = this.#some();
    return { node, pid: this.#pids(node)[0] as number };
  }

  async #restart(node: Node, signal: NodeJS.Signals): Promise<void> {
    await node.process.end(signal);
    await delay(500);
    node.process = await this.#startNode(node);
  }

  async #killRelay(): Promise<void> {
    const { node, pid } = this.#relay();
    if (this.#processes === 1) await this.#restart(node, 'SIGKILL');
    else process.kill(pid, 'SIGKILL');
  }

  async #killProcess(): Promise<void> {
    const pids = this.#pids(this.#some());
    process.kill(pids[Math.floor(Math.random() * pids.length)] as number, 'SIGKILL');
  }

  async #pauseRedis(ms: number): Promise<void> {
    await this.redis.command('CLIENT', 'PAUSE', ms, 'ALL');
    await delay(ms);
  }

  async #restartRedis(): Promise<void> {
    await this.redis.kill();
    await delay(1_000);
    await this.redis.restart();
  }

  async #stepClocks(): Promise<void> {
    const stepped = this.nodes.map(async ({ process: { output } }, i) => {
      const before = output().length;
      const pids = this.#pids(this.nodes[i] as Node);
      for (const pid of pids) process.kill(pid, 'SIGUSR2');
      while (pids.some((pid) => isRunning(pid) && !output().slice(before).includes(`wall clock of ${pid}:`)))
        await delay(10);
    });
    await Promise.all([...stepped, this.redis.kill()]);
    // Watched trees are read every few seconds: progress alone does not show that the silence of Redis was noticed.
    await Promise.all(this.nodes.map((node) => goesBackToNotify(node)));
  }

  async #restartPostgres(): Promise<void> {
    const before = serverPid(this.#folder);
    process.kill(before, 'SIGQUIT');
    for (const { toPostgres } of this.nodes) toPostgres.cut();
    while (isRunning(before)) await delay(20);
    this.#postgres = await startEmbeddedPostgres({ dataDirectory: this.#folder, settings });
    for (const { toPostgres } of this.nodes) toPostgres.mend(this.#postgres.url);
  }

  async #terminateConnections(): Promise<void> {
    await this.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );
  }

  async #readOnly(ms: number): Promise<void> {
    await this.query('alter system set default_transaction_read_only = on');
    await this.query('select pg_reload_conf()');
    await delay(ms);
    await this.query('alter system reset default_transaction_read_only');
    await this.query('select pg_reload_conf()');
  }

  /** Takes whatever connection is free, or becomes it: one after the other, the servers lose theirs and get no other. */
  async #takeConnections(ms: number): Promise<void> {
    const taken: pg.Client[] = [];
    const until = performance.now() + ms;
    const client = await this.#connect();
    try {
      while (performance.now() < until) {
        const isFull = await this.#connect().then(
          (next) => taken.push(next) === 0,
          () => true,
        );
        if (!isFull) continue;
        await client.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'jobtree%' and random() < 0.1`,
        );
        await delay(50);
      }
    } finally {
      await Promise.all([client, ...taken].map((each) => each.end()));
    }
  }

  async #cutOff(ms: number): Promise<void> {
    const { toPostgres, toRedis } = this.#some();
    toPostgres.freeze();
    toRedis.freeze();
    await delay(ms);
    toPostgres.mend();
    toRedis.mend();
  }
}

/** Throws if the server does not in time. */
async function goesBackToNotify({ port }: Node): Promise<void> {
  const until = performance.now() + goBackWithinMs;
  for (;;) {
    const said = await fetch(`http://127.0.0.1:${port}/readyz`).then((answer) => answer.text());
    if (said.includes('messages by notify')) return;
    if (performance.now() > until) throw new Error(`Redis is away, and a server says: ${said}`);
    await delay(50);
  }
}

async function stopFor(ms: number, pids: readonly number[]): Promise<void> {
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  await delay(ms);
  for (const pid of pids) process.kill(pid, 'SIGCONT');
}

/** Of every connection that leads to one of these ports now. New ones are not concerned. */
function dropPackets(ports: readonly string[]): void {
  const rules = [
    'add table inet jobtree',
    'add chain inet jobtree cut { type filter hook output priority 0; }',
  ];
  for (const line of execFileSync('ss', ['-tnH', 'state', 'established'], { encoding: 'utf8' }).split('\n')) {
    const [, , from = '', to = ''] = line.trim().split(/\s+/);
    const [sport, dport] = [from, to].map((address) => address.split(':').at(-1) ?? '');
    if (!ports.includes(sport ?? '') && !ports.includes(dport ?? '')) continue;
    rules.push(`add rule inet jobtree cut tcp sport ${sport} tcp dport ${dport} drop`);
  }
  execFileSync('nft', ['-f', '-'], { input: `${rules.join('\n')}\n` });
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
