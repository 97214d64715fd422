/** TLS to real servers of Postgres and Redis, with certificates of an authority of the tests' own. */
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Authority, createAuthority, withoutOpenssl } from '../support/certificates.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/ports.ts';
import {
  findPostgresPrograms,
  type InstalledPostgres,
  startInstalledPostgres,
} from '../support/postgres-programs.ts';
import { findRedis, type RedisServer, startRedis } from '../support/redis.ts';
import { startServerProcess } from '../support/server.ts';
import { run } from './program.ts';

const bin = findPostgresPrograms();
const names = ['DNS:localhost', 'IP:127.0.0.1'];
const kinds = ['good', 'of another host', 'over'] as const;
let authority: Authority;
beforeAll(() => {
  if (!withoutOpenssl) authority = createAuthority();
});
afterAll(() => authority?.remove());

const issue = (kind: (typeof kinds)[number], owner?: number) =>
  authority.issue(kind === 'of another host' ? ['DNS:db.example'] : names, {
    isOver: kind === 'over',
    owner,
  });

describe.skipIf(withoutOpenssl || bin === undefined)('Postgres', () => {
  const servers = new Map<string, InstalledPostgres>();
  beforeAll(async () => {
    const owner =
      process.getuid?.() === 0 ? Number(execFileSync('id', ['-u', 'postgres']).toString()) : undefined;
    // The folder of the authority is for its owner alone.
    if (owner !== undefined) execFileSync('chmod', ['755', authority.file.replace(/\/[^/]+$/, '')]);
    await Promise.all(
      kinds.map(async (kind) => {
        const { certFile, keyFile } = issue(kind, owner);
        const tls = { ssl: 'on', ssl_cert_file: certFile, ssl_key_file: keyFile };
        servers.set(kind, await startInstalledPostgres(bin as string, tls));
      }),
    );
  });
  afterAll(async () => {
    for (const server of servers.values()) await server.stop();
  });
  const migrate = (kind: string, parameters: string, env = {}) =>
    run(['migrate'], {
      env: { DATABASE_URL: `${servers.get(kind)?.url('postgres')}?${parameters}`, ...env },
    });

  it('with a valid certificate is accepted, by an authority that the URL or the environment names', async () => {
    const byUrl = await migrate('good', `sslmode=require&sslrootcert=${authority.file}`);
    expect(byUrl).toMatchObject({ code: 0, stderr: '' });
    const byEnvironment = await migrate('good', 'sslmode=verify-full', {
      NODE_EXTRA_CA_CERTS: authority.file,
    });
    expect(byEnvironment).toMatchObject({ code: 0, stderr: '' });
  });

  it('encrypts all connections of a server', async () => {
    const url = servers.get('good')?.url('postgres') as string;
    const server = await startServerProcess(`${url}?sslmode=require&sslrootcert=${authority.file}`);
    const { default: pg } = await import('pg');
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query(
      `select a.application_name as name, s.ssl from pg_stat_activity a join pg_stat_ssl s using (pid) where a.application_name like 'jobtree%'`,
    );
    await client.end();
    expect(await server.end()).toBe(0);
    expect(rows.length).toBeGreaterThan(3);
    expect(rows.filter(({ ssl }) => !ssl)).toEqual([]);
  });

  it.each([
    ['good', 'sslmode=require', /unable to verify the first certificate/],
    ['good', 'sslmode=prefer', /unable to verify the first certificate/],
    ['good', 'ssl=true', /unable to verify the first certificate/],
    ['of another host', 'sslmode=require&sslrootcert=CA', /does not match certificate's altnames/],
    ['of another host', 'sslmode=verify-ca&sslrootcert=CA', /does not match certificate's altnames/],
    ['over', 'sslmode=require&sslrootcert=CA', /certificate has expired/],
  ])('with a certificate that is %s is refused with %s', async (kind, parameters, message) => {
    const { code, stderr } = await migrate(kind, parameters.replace('CA', authority.file));
    expect(code).toBe(5);
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(/^jobtree: The certificate of Postgres is not trusted: .*sslrootcert.*\n$/);
  });

  it('without TLS is refused if the URL requires it', async () => {
    const db = await createDatabase();
    const { code, stderr } = await run(['migrate'], { env: { DATABASE_URL: `${db.url}?sslmode=require` } });
    await db.drop();
    expect(code).toBe(5);
    expect(stderr).toBe(
      'jobtree: DATABASE_URL asks for TLS (sslmode), but this Postgres does not support it.\n',
    );
  });
});

describe.skipIf(withoutOpenssl || findRedis() === undefined)('Redis', () => {
  const servers = new Map<string, RedisServer>();
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createDatabase();
    for (const kind of kinds) {
      const { certFile, keyFile } = issue(kind);
      const port = await freePort();
      servers.set(
        kind,
        await startRedis(
          // biome-ignore format: pairs
          ['--port', '0', '--tls-port', String(port), '--tls-cert-file', certFile, '--tls-key-file', keyFile,
           '--tls-ca-cert-file', authority.file, '--tls-auth-clients', 'no'],
          { port },
        ),
      );
    }
  });
  afterAll(async () => {
    for (const server of servers.values()) await server.stop();
    await db?.drop();
  });
  const examine = async (kind: string, env = {}) => {
    const REDIS_URL = `rediss://localhost:${servers.get(kind)?.port}`;
    const { stdout } = await run(['doctor', '--json'], { env: { DATABASE_URL: db.url, REDIS_URL, ...env } });
    const findings = stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    return findings.find(({ check }) => check === 'redis');
  };

  it('with a valid certificate is accepted, by an authority that the environment names', async () => {
    const found = await examine('good', { NODE_EXTRA_CA_CERTS: authority.file });
    expect(found.message).not.toContain("can't be used");
  });

  it.each([
    ['good', false, /self-signed certificate in certificate chain/],
    ['of another host', true, /does not match certificate's altnames/],
    ['over', true, /certificate has expired/],
  ])('with a certificate that is %s (authority known: %s) is refused', async (kind, isKnown, message) => {
    const found = await examine(kind, isKnown ? { NODE_EXTRA_CA_CERTS: authority.file } : {});
    expect(found).toMatchObject({ status: 'warning', message: expect.stringMatching(message) });
  });
});

it('the doctor reports what leaves the machine without TLS', async () => {
  const { stdout } = await run(['doctor', '--json'], {
    env: { DATABASE_URL: 'postgres://user:secret@192.0.2.1/x?connect_timeout=1' },
  });
  expect(stdout).toMatch(
    /^\{"check":"encryption","status":"warning","message":"DATABASE_URL leads to another host/,
  );
  expect(stdout).not.toContain('secret');
});
