/**
 * Three Postgres of which Patroni makes one the primary, each on a host of its own: a network namespace with a disk. etcd and HAProxy stand before
 * them. It wants root, and the packages iproute2, patroni, etcd-server and haproxy.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { example } from '../support/documentation.ts';
import { freePort } from '../support/ports.ts';
import { findPostgresPrograms } from '../support/postgres-programs.ts';

const postgresPort = 5432;
const patroniPort = 8008;
const diskMb = 1_500;
/** The shortest that Patroni takes. Whoever dies is followed after it. */
const ttlSeconds = 20;

interface Member {
  readonly name: string;
  readonly role: string;
  readonly state: string;
  readonly lag?: number | string;
}

export class Host {
  readonly name: string;
  readonly address: string;
  readonly #folder: string;
  readonly #account = { uid: numberOf('-u'), gid: numberOf('-g') };
  #patroni: ChildProcess | undefined;
  #log = '';

  constructor(options: { name: string; address: string; folder: string; bridge: string }) {
    const { name, address, folder, bridge } = options;
    this.name = name;
    this.address = address;
    this.#folder = folder;
    mkdirSync(folder);
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMb}m`, 'tmpfs', folder]);
    chownSync(folder, this.#account.uid, this.#account.gid);
    ip(`netns add ${name}`);
    ip(`link add ${name} type veth peer name eth0 netns ${name}`);
    ip(`link set ${name} master ${bridge} up`);
    ip(`-n ${name} addr add ${address}/24 dev eth0`);
    ip(`-n ${name} link set eth0 up`);
    ip(`-n ${name} link set lo up`);
  }

  log(): string {
    return this.#log;
  }

  start(): void {
    const account = [
      'setpriv',
      `--reuid=${this.#account.uid}`,
      `--regid=${this.#account.gid}`,
      '--clear-groups',
    ];
    const patroni = spawn('ip', ['netns', 'exec', this.name, ...account, 'patroni', `${this.#folder}.yml`], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [patroni.stdout, patroni.stderr])
      stream.on('data', (chunk: Buffer) => {
        this.#log += chunk.toString();
      });
    this.#patroni = patroni;
  }

  pids(): number[] {
    return execFileSync('ip', ['netns', 'pids', this.name], { encoding: 'utf8' })
      .split('\n')
      .filter(Boolean)
      .map(Number);
  }

  /** Of Postgres, the parent of all its processes. */
  killPostgres(): void {
    const pid = readFileSync(join(this.#folder, 'data', 'postmaster.pid'), 'utf8').split('\n', 1)[0];
    process.kill(Number(pid), 'SIGKILL');
  }

  /** As if it had lost its power. */
  async kill(): Promise<void> {
    for (const pid of this.pids())
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // Its parent's end was its own.
      }
    if (this.#patroni?.exitCode === null && this.#patroni.signalCode === null)
      await once(this.#patroni, 'exit');
  }

  connect(isConnected: boolean): void {
    ip(`link set ${this.name} ${isConnected ? 'up' : 'down'}`);
  }

  fillDisk(): void {
    spawnSync('dd', ['if=/dev/zero', `of=${join(this.#folder, 'full')}`, 'bs=1M'], { stdio: 'ignore' });
  }

  freeDisk(): void {
    rmSync(join(this.#folder, 'full'), { force: true });
  }

  async remove(): Promise<void> {
    await this.kill();
    ip(`netns del ${this.name}`);
    execFileSync('umount', ['--lazy', this.#folder]);
  }
}

export class PatroniCluster {
  /** Leads to whichever is the primary. */
  readonly url: string;
  /** All of them, for whoever finds the primary by itself. */
  readonly urlOfAll: string;
  readonly hosts: readonly Host[];
  readonly #bridge: string;
  readonly #folder: string;
  readonly #others: readonly ChildProcess[];
  readonly #synchronous: boolean;

  private constructor(parts: {
    port: number;
    hosts: readonly Host[];
    bridge: string;
    folder: string;
    others: readonly ChildProcess[];
    synchronous: boolean;
  }) {
    const { port, hosts, bridge, folder, others, synchronous } = parts;
    this.url = `postgres://postgres:secret@127.0.0.1:${port}/jobtree`;
    const addresses = hosts.map(({ address }) => `${address}:${postgresPort}`).join(',');
    this.urlOfAll = `postgres://postgres:secret@${addresses}/jobtree`;
    this.hosts = hosts;
    this.#bridge = bridge;
    this.#folder = folder;
    this.#others = others;
    this.#synchronous = synchronous;
  }

  static async start({ synchronous }: { synchronous: boolean }): Promise<PatroniCluster> {
    const folder = mkdtempSync(join(tmpdir(), 'jobtree-patroni-'));
    execFileSync('chmod', ['755', folder]);
    const number = Math.floor(Math.random() * 200) + 20;
    const bridge = `jt${number}`;
    const network = `10.${number}.77`;
    ip(`link add ${bridge} type bridge`);
    ip(`addr add ${network}.1/24 dev ${bridge}`);
    ip(`link set ${bridge} up`);
    const etcdPort = await freePort();
    const etcd = startEtcd(join(folder, 'etcd'), `http://${network}.1`, etcdPort, await freePort());
    const hosts = [1, 2, 3].map((i) => {
      const name = `${bridge}-${i}`;
      const address = `${network}.${10 + i}`;
      const settings = settingsOf({
        name,
        address,
        etcd: `${network}.1:${etcdPort}`,
        folder: join(folder, name),
        synchronous,
      });
      writeFileSync(join(folder, `${name}.yml`), JSON.stringify(settings));
      return new Host({ name, address, folder: join(folder, name), bridge });
    });
    const port = await freePort();
    writeFileSync(join(folder, 'haproxy.cfg'), haproxyFor(port, hosts));
    const haproxy = spawn('haproxy', ['-f', join(folder, 'haproxy.cfg')], { stdio: 'ignore' });
    const cluster = new PatroniCluster({ port, hosts, bridge, folder, others: [etcd, haproxy], synchronous });
    for (const host of hosts) host.start();
    await cluster.untilWhole();
    return cluster;
  }

  async members(): Promise<readonly Member[]> {
    for (const { address } of this.hosts)
      try {
        const answer = await fetch(`http://${address}:${patroniPort}/cluster`, {
          signal: AbortSignal.timeout(1_000),
        });
        return ((await answer.json()) as { members: Member[] }).members;
      } catch {
        // Another one may know.
      }
    return [];
  }

  /** The primary, once there is one that is not `before`. */
  async leader(before?: Host): Promise<Host> {
    for (;;) {
      const leader = (await this.members()).find(
        ({ role, state }) => role === 'leader' && state === 'running',
      );
      const host = this.hosts.find(({ name }) => name === leader?.name);
      if (host !== undefined && host !== before) return host;
      await delay(100);
    }
  }

  /** The one that the primary waits for, if it waits for any. */
  async standby(): Promise<Host> {
    const members = await this.members();
    const wanted = members.find(({ role }) => role === (this.#synchronous ? 'sync_standby' : 'replica'));
    const host = this.hosts.find(({ name }) => name === wanted?.name);
    if (host === undefined) throw new Error(`There is no standby: ${JSON.stringify(members)}`);
    return host;
  }

  /** Until there is a primary, and two standbys follow it. */
  async untilWhole(withinMs = 120_000): Promise<void> {
    const until = performance.now() + withinMs;
    for (;;) {
      const members = await this.members();
      const isThere = members.map(({ role, state, lag }) =>
        role === 'leader' ? state === 'running' : ['running', 'streaming'].includes(state) && lag === 0,
      );
      const has = (wanted: string) => members.some(({ role }) => role === wanted);
      const isSafe = !this.#synchronous || has('sync_standby');
      if (isThere.length === 3 && isThere.every(Boolean) && has('leader') && isSafe) return;
      if (performance.now() > until)
        throw new Error(
          `${JSON.stringify(members)}\n${this.hosts.map((host) => host.log().slice(-3_000)).join('\n')}`,
        );
      await delay(200);
    }
  }

  /** Asks Patroni to make another one the primary. */
  async switchOver(): Promise<void> {
    const leader = await this.leader();
    const answer = await fetch(`http://${leader.address}:${patroniPort}/switchover`, {
      method: 'POST',
      body: JSON.stringify({ leader: leader.name }),
    });
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  }

  async stop(): Promise<void> {
    for (const host of this.hosts) await host.remove();
    for (const process of this.#others) process.kill('SIGKILL');
    ip(`link del ${this.#bridge}`);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function settingsOf(options: {
  name: string;
  address: string;
  etcd: string;
  folder: string;
  synchronous: boolean;
}) {
  const { name, address, etcd, folder, synchronous } = options;
  const listen = (port: number) => ({ listen: `${address}:${port}`, connect_address: `${address}:${port}` });
  const account = { username: 'postgres', password: 'secret' };
  return {
    scope: 'jobtree',
    name,
    restapi: listen(patroniPort),
    etcd3: { host: etcd },
    bootstrap: {
      dcs: {
        ttl: ttlSeconds,
        loop_wait: 2,
        retry_timeout: 5,
        // Whoever loses its Postgres gives up the lead, instead of waiting for it.
        primary_start_timeout: 0,
        synchronous_mode: synchronous,
        postgresql: { use_pg_rewind: true, use_slots: true },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'data-checksums'],
    },
    postgresql: {
      ...listen(postgresPort),
      data_dir: join(folder, 'data'),
      bin_dir: findPostgresPrograms(),
      pgpass: join(folder, 'pgpass'),
      authentication: { superuser: account, replication: { username: 'replicator', password: 'secret' } },
      pg_hba: ['local all all trust', 'host all all all md5', 'host replication replicator all md5'],
      parameters: {
        unix_socket_directories: folder,
        max_connections: 100,
        max_wal_size: '200MB',
        wal_log_hints: 'on',
        wal_keep_size: '200MB',
        password_encryption: 'md5',
      },
    },
    watchdog: { mode: 'off' },
  };
}

/** What the documentation has. */
function haproxyFor(port: number, hosts: readonly Host[]): string {
  const [beginning = ''] = example('failover.md', 'haproxy')
    .replace('127.0.0.1:5000', `127.0.0.1:${port}`)
    .split(/^ *server /m);
  const servers = hosts.map(
    ({ name, address }) => `  server ${name} ${address}:${postgresPort} check port ${patroniPort}\n`,
  );
  return beginning + servers.join('');
}

function startEtcd(folder: string, address: string, port: number, peerPort: number): ChildProcess {
  const peer = `http://127.0.0.1:${peerPort}`;
  const options = {
    name: 'etcd',
    'data-dir': folder,
    'listen-client-urls': `${address}:${port}`,
    'advertise-client-urls': `${address}:${port}`,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `etcd=${peer}`,
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  return spawn('etcd', args, { stdio: 'ignore' });
}

function ip(command: string): void {
  execFileSync('ip', command.split(' '));
}

function numberOf(option: string): number {
  return Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }));
}
