/** The API over TLS: https and wss on one port, with a certificate from files that may change while it serves. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get as getPlain } from 'node:http';
import { get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import tls, { connect, type PeerCertificate, type TLSSocket } from 'node:tls';
import { createClient } from 'graphql-ws';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { App } from '../../src/server/create-app.ts';
import { run } from '../cli/program.ts';
import {
  type Authority,
  createAuthority,
  type IssuedCertificate,
  withoutOpenssl,
} from '../support/certificates.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startServer, startServerProcess } from '../support/server.ts';

let authority: Authority;
let db: TestDatabase;
let folder: string;
let app: App;
const file = (name: string) => join(folder, name);
const files = () => ({ JOBTREE_TLS_CERT_FILE: file('cert.pem'), JOBTREE_TLS_KEY_FILE: file('key.pem') });

/** As whoever renews it: one file after the other. */
function put({ certFile, keyFile }: IssuedCertificate) {
  copyFileSync(keyFile, file('key.pem'));
  copyFileSync(certFile, file('cert.pem'));
}

beforeAll(async () => {
  if (withoutOpenssl) return;
  authority = createAuthority();
  folder = mkdtempSync(join(tmpdir(), 'jobtree-served-'));
  put(authority.issue(['DNS:localhost', 'IP:127.0.0.1']));
  db = await createDatabase();
  app = await startServer(db.url, files(), { times: { certificateMs: 50 } });
});
afterAll(async () => {
  if (withoutOpenssl) return;
  await app.close();
  await db.drop();
  authority.remove();
  rmSync(folder, { recursive: true });
});

function ask(path: string): Promise<{ status: number | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    get(new URL(path, app.url), { ca: authority.cert, agent: false }, async (response) =>
      resolve({ status: response.statusCode, body: await text(response) }),
    ).on('error', reject);
  });
}

/** What a new connection is shown. */
function shown(options: object = {}, url = app.url): Promise<PeerCertificate> {
  return new Promise((resolve, reject) => {
    const port = Number(new URL(url).port);
    const socket: TLSSocket = connect({ port, host: '127.0.0.1', ca: authority.cert, ...options }, () => {
      resolve(socket.getPeerCertificate());
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

describe.skipIf(withoutOpenssl)('over TLS', () => {
  it('the API answers, and its URLs start with https', async () => {
    expect(app.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/graphql$/);
    expect(await ask('/graphql?query={__typename}')).toMatchObject({ status: 200 });
    expect(await ask('/readyz')).toEqual({ status: 200, body: 'ok, messages by notify\n' });
  });

  it('nothing is answered without it', async () => {
    const plain = new Promise((resolve, reject) => {
      getPlain(app.url.replace('https', 'http'), resolve).on('error', reject);
    });
    await expect(plain).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it('the server refuses versions before TLS 1.2, whatever its Node.js accepts, also with a new certificate', async () => {
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' };
    // It is no fault of the client: a server that allows it speaks TLS 1.1 with it.
    const { cert, key } = { cert: readFileSync(file('cert.pem')), key: readFileSync(file('key.pem')) };
    const lax = tls.createServer({ ...old, maxVersion: 'TLSv1.3' as const, minVersion: 'TLSv1', cert, key });
    await new Promise<void>((resolve) => lax.listen(0, '127.0.0.1', resolve));
    const { port } = lax.address() as AddressInfo;
    await expect(shown(old, `https://127.0.0.1:${port}`)).resolves.toBeDefined();
    lax.close();

    const standard = tls.DEFAULT_MIN_VERSION;
    tls.DEFAULT_MIN_VERSION = 'TLSv1';
    try {
      const server = await startServer(db.url, files(), { times: { certificateMs: 50 } });
      const refused = { code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' };
      await expect(shown(old, server.url)).rejects.toMatchObject(refused);
      await expect(shown({ maxVersion: 'TLSv1.2' }, server.url)).resolves.toBeDefined();
      const before = await shown({}, server.url);
      put(authority.issue(['DNS:localhost', 'IP:127.0.0.1']));
      await expect.poll(async () => (await shown({}, server.url)).serialNumber).not.toBe(before.serialNumber);
      await expect(shown(old, server.url)).rejects.toMatchObject(refused);
      await server.close();
    } finally {
      tls.DEFAULT_MIN_VERSION = standard;
    }
  });

  it('the command line, the client and a worker use it with their own authority, and refuse it without', async () => {
    const env = { JOBTREE_URL: app.url, NODE_EXTRA_CA_CERTS: authority.file };
    const rows = file('rows.csv');
    writeFileSync(rows, 'a\n1\n2\n');
    expect(await run(['import', rows, '--type', 'tls'], { env })).toMatchObject({ code: 0 });
    const worker = await run(['work', 'tls', '--stop-when-idle', '1', '--', 'cat'], { env });
    expect(worker).toMatchObject({ code: 0 });
    const listed = await run(['jobs', '--json'], { env });
    const { id } = JSON.parse(listed.stdout.split('\n')[0] ?? '');
    expect(await run(['watch', id], { env })).toMatchObject({ code: 0 });
    const stranger = await run(['jobs'], { env: { ...env, NODE_EXTRA_CA_CERTS: '' } });
    expect(stranger).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(/certificate.*NODE_EXTRA_CA_CERTS/),
    });
  });

  it('several processes serve', async () => {
    const server = await startServerProcess(db.url, files(), ['--processes', '2']);
    await expect.poll(server.output).toContain(`API       ${server.url}`);
    expect(server.url).toMatch(/^https:/);
    expect(await server.end()).toBe(0);
  });
});

describe.skipIf(withoutOpenssl)('a changing certificate', () => {
  it('is used for new connections, and open ones continue', async () => {
    const client = createClient({
      url: app.url.replace('http', 'ws'),
      webSocketImpl: class extends WebSocket {
        constructor(url: string, protocols: string) {
          super(url, protocols, { ca: authority.cert });
        }
      },
      retryAttempts: 0,
    });
    const events = client.iterate<any>({ query: 'subscription { queues { type paused } }' });
    await events.next();
    const before = await shown();
    put(authority.issue(['DNS:localhost', 'IP:127.0.0.1']));
    await expect.poll(async () => (await shown()).serialNumber).not.toBe(before.serialNumber);
    await db.query(`select jobtree.set_queue('tls.next', '{"paused": true}')`);
    await ask('/graphql?query={__typename}');
    const next = await events.next();
    expect(JSON.stringify(next.value)).toContain('tls');
    await client.dispose();
  });

  it('stays the previous one while the files do not match, and the log says so', async () => {
    const before = await shown();
    const next = authority.issue(['DNS:localhost', 'IP:127.0.0.1']);
    for (const spoil of [
      () => copyFileSync(next.certFile, file('cert.pem')),
      () => writeFileSync(file('cert.pem'), 'nonsense'),
      () => rmSync(file('cert.pem')),
      () => put(authority.issue(['DNS:localhost'], { isOver: true })),
    ]) {
      spoil();
      await expect
        .poll(async () => (await ask('/readyz')).body)
        .toContain("ok, messages by notify; the new certificate can't be used: ");
      expect((await shown()).serialNumber).toBe(before.serialNumber);
    }
    put(next);
    await expect.poll(async () => (await ask('/readyz')).body).toBe('ok, messages by notify\n');
    expect((await shown()).serialNumber).not.toBe(before.serialNumber);
  });
});

describe.skipIf(withoutOpenssl)('a server refuses to start', () => {
  const start = (certFile: string, keyFile: string) =>
    startServer(db.url, { JOBTREE_TLS_CERT_FILE: certFile, JOBTREE_TLS_KEY_FILE: keyFile });

  it('with a certificate that is missing, expired, or has another key', async () => {
    const [good, other] = [authority.issue(['DNS:a']), authority.issue(['DNS:b'])];
    const over = authority.issue(['DNS:c'], { isOver: true });
    await expect(start(file('none.pem'), good.keyFile)).rejects.toThrow(/ENOENT.*none\.pem/);
    await expect(start(good.certFile, other.keyFile)).rejects.toThrow(
      'the key does not belong to the certificate',
    );
    await expect(start(over.certFile, over.keyFile)).rejects.toThrow('the certificate expired at');
    await expect(start(good.keyFile, good.keyFile)).rejects.toThrow("can't be used");
    expect(() => startServer(db.url, { JOBTREE_TLS_CERT_FILE: good.certFile })).toThrow('set together');
  });

  it('with an exit code for settings', () => {
    const { certFile } = authority.issue(['DNS:a']);
    const { keyFile } = authority.issue(['DNS:b']);
    const cli = new URL('../../dist/cli/main.js', import.meta.url).pathname;
    const { status, stderr } = spawnSync(process.execPath, [cli, 'start'], {
      encoding: 'utf8',
      env: {
        ...process.env,
        DATABASE_URL: db.url,
        JOBTREE_PORT: '0',
        JOBTREE_TLS_CERT_FILE: certFile,
        JOBTREE_TLS_KEY_FILE: keyFile,
      },
    });
    expect(status).toBe(2);
    expect(stderr).toContain('the key does not belong to the certificate');
    expect(stderr).not.toContain('PRIVATE KEY');
  });
});
