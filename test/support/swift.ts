/**
 * OpenStack Swift, which speaks the protocol of S3: an object store with one replica in a folder of its own. Without its programs on the PATH
 * its tests are skipped, but never in CI.
 */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { freePort } from './ports.ts';

const kinds = ['account', 'container', 'object'] as const;
const programs = ['swift-ring-builder', 'swift-proxy-server', ...kinds.map((kind) => `swift-${kind}-server`)];

export const withoutSwift =
  programs.some((name) => spawnSync('which', [name]).status !== 0) && process.env.CI !== 'true';
if (withoutSwift)
  console.log(
    'Tests with an object store are skipped: install swift-proxy, swift-account, swift-container and swift-object.',
  );

export const credentials = { AWS_ACCESS_KEY_ID: 'test:tester', AWS_SECRET_ACCESS_KEY: 'testing' };

export interface Swift {
  readonly url: string;
  readonly bucket: string;
  /** Of a server that stores uploads there, in a folder of the bucket; `url`: of a proxy before it. */
  settings(folder?: string, url?: string): Record<string, string>;
  /** All keys that begin so. */
  keys(beginning?: string): Promise<string[]>;
  read(key: string): Promise<Buffer>;
  write(key: string, bytes: Uint8Array): Promise<void>;
  remove(key: string): Promise<void>;
  /** Ends the server that has the objects, so that requests are answered with 503; until what this gives is called. */
  loseObjects(): Promise<() => Promise<void>>;
  stop(): Promise<void>;
}

/** Servers in this process find its credentials in the environment. */
export async function startSwift(): Promise<Swift> {
  const directory = await mkdtemp(join(tmpdir(), 'jobtree-swift-'));
  const parts = new Map<string, ChildProcess>();
  let output = '';
  const stop = async () => {
    const alive = [...parts.values()].filter(
      ({ exitCode, signalCode }) => exitCode === null && signalCode === null,
    );
    await Promise.all(
      alive.map((child) => {
        const exited = once(child, 'exit');
        child.kill('SIGKILL');
        return exited;
      }),
    );
    await rm(directory, { recursive: true, force: true });
  };
  const start = (kind: string) => {
    const child = spawn(`swift-${kind}-server`, [join(directory, `${kind}.conf`), '-v'], {
      env: { ...process.env, SWIFT_DIR: directory },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    parts.set(kind, child);
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        output = (output + chunk.toString()).slice(-10_000);
      });
  };
  try {
    const port = await configure(directory);
    for (const kind of ['proxy', ...kinds]) start(kind);
    const url = `http://127.0.0.1:${port}`;
    const bucket = 'uploads';
    const client = createClient(url);
    const giveUpAt = performance.now() + 60_000;
    const probe = { Bucket: bucket, Key: 'probe' };
    const works = async () => {
      await client.send(new CreateBucketCommand({ Bucket: bucket })).catch(() => undefined);
      await client.send(new PutObjectCommand({ ...probe, Body: 'x' }));
      await client.send(new DeleteObjectCommand(probe));
      return true;
    };
    while (!(await works().catch(() => false))) {
      const hasEnded = [...parts.values()].some(({ exitCode }) => exitCode !== null);
      if (hasEnded || performance.now() > giveUpAt) throw new Error(`Swift does not work:\n${output}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    Object.assign(process.env, credentials);
    return {
      url,
      bucket,
      settings: (folder = 'files', address = url) => ({
        JOBTREE_UPLOAD_STORE_URL: `s3://${bucket}/${folder}`,
        JOBTREE_UPLOAD_STORE_ENDPOINT: address,
        JOBTREE_UPLOAD_STORE_PATH_STYLE: 'true',
        ...credentials,
      }),
      keys: async (beginning = '') => {
        const { Contents = [] } = await client.send(
          new ListObjectsV2Command({ Bucket: bucket, Prefix: beginning }),
        );
        return Contents.map(({ Key = '' }) => Key);
      },
      read: async (key) => {
        const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
        return Buffer.from((await Body?.transformToByteArray()) ?? []);
      },
      write: async (key, bytes) => {
        await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: bytes }));
      },
      remove: async (key) => {
        await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }));
      },
      loseObjects: async () => {
        const lost = parts.get('object');
        const exited = lost && once(lost, 'exit');
        lost?.kill('SIGKILL');
        await exited;
        return async () => {
          start('object');
          const probe = { Bucket: bucket, Key: 'probe' };
          while (!(await client.send(new PutObjectCommand({ ...probe, Body: 'x' })).catch(() => undefined)))
            await new Promise((resolve) => setTimeout(resolve, 50));
          await client.send(new DeleteObjectCommand(probe));
        };
      },
      stop: async () => {
        client.destroy();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function createClient(endpoint: string): S3Client {
  return new S3Client({
    region: 'us-east-1',
    endpoint,
    forcePathStyle: true,
    maxAttempts: 1,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    credentials: {
      accessKeyId: credentials.AWS_ACCESS_KEY_ID,
      secretAccessKey: credentials.AWS_SECRET_ACCESS_KEY,
    },
  });
}

/** Rings of one device each, and a file for each of the servers. Returns the port of the one that clients ask. */
async function configure(directory: string): Promise<number> {
  await mkdir(join(directory, 'devices/d1'), { recursive: true });
  const common = (port: number) =>
    `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
workers = 0
user = ${userInfo().username}
swift_dir = ${directory}
devices = ${directory}/devices
mount_check = false
log_address = ${directory}/no-log
`;
  await writeFile(
    join(directory, 'swift.conf'),
    '[swift-hash]\nswift_hash_path_suffix = jobtree\nswift_hash_path_prefix = jobtree\n[storage-policy:0]\nname = one\ndefault = yes\n',
  );
  await Promise.all(
    kinds.map(async (kind) => {
      const port = await freePort();
      const build = (...args: string[]) =>
        promisify(execFile)('swift-ring-builder', [join(directory, `${kind}.builder`), ...args]);
      // 4 partitions, one replica.
      await build('create', '2', '1', '0');
      await build('add', `r1z1-127.0.0.1:${port}/d1`, '1');
      await build('rebalance');
      await writeFile(
        join(directory, `${kind}.conf`),
        `${common(port)}[pipeline:main]\npipeline = ${kind}-server\n[app:${kind}-server]\nuse = egg:swift#${kind}\n${kind === 'object' ? 'container_update_timeout = 60\n' : ''}`,
      );
    }),
  );
  const port = await freePort();
  const filters = ['catch_errors', 'cache', 'listing_formats', 's3api', 'tempauth'];
  const more: Record<string, string> = {
    // It wants one, and does without.
    cache: 'memcache_servers = 127.0.0.1:9',
    s3api: 'location = us-east-1',
    tempauth: 'user_test_tester = testing .admin',
  };
  const filterText = filters.map((name) => {
    const egg = name === 'cache' ? 'memcache' : name;
    return `[filter:${name}]\nuse = egg:swift#${egg}\n${more[name] ?? ''}\n`;
  });
  await writeFile(
    join(directory, 'proxy.conf'),
    `${common(port)}[pipeline:main]
pipeline = ${filters.join(' ')} proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
conn_timeout = 5
# It would ask nobody for a while who did not answer, as while all begin.
error_suppression_limit = 1000000
error_suppression_interval = 0
${filterText.join('')}`,
  );
  return port;
}
