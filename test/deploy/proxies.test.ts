/** nginx and Caddy as the page on security has them, before a server: they end TLS, and what callers must not say does not pass. */
import { once } from 'node:events';
import { createServer, get as getPlain, type IncomingMessage, type Server } from 'node:http';
import { request as open, type RequestOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createClient } from 'graphql-ws';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { App } from '../../src/server/create-app.ts';
import { createJob, data, work } from '../support/api.ts';
import { type Authority, createAuthority, withoutOpenssl } from '../support/certificates.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { type DocumentedProxy, startDocumentedProxy, withoutProgram } from '../support/documented-proxies.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { until } from '../support/transport.ts';

const secret = 'a-secret-of-the-proxy-and-the-server';
const host = 'jobs.example.com';
const progress = 'subscription ($id: ID!) { jobProgress(jobId: $id) { succeeded } }';
/** What an attacker would have a server believe. */
const forged = {
  'x-forwarded-user': 'eve',
  'x-forwarded-roles': 'admin',
  'x-forwarded-tenant': 'acme',
  'x-forwarded-for': '192.0.2.7',
};

let db: TestDatabase;
let app: App;
/** Where nobody is asked, to work at what is watched. */
let behind: App;
let key: string;
let authority: Authority;
/** In place of OAuth2 Proxy: what it says of whoever asks. */
let said: Record<string, string> | undefined;
let asked: Server;

const isMissing = (name: string) =>
  withoutOpenssl ||
  withoutProgram(
    ...((name.startsWith('nginx') ? ['nginx', '-v'] : ['caddy', 'version']) as [string, string]),
  );

beforeAll(async () => {
  if (withoutOpenssl) return;
  db = await createDatabase();
  authority = createAuthority();
  app = await startServer(db.url, {
    JOBTREE_AUTH: 'keys,proxy',
    JOBTREE_PROXY_SECRET: secret,
    JOBTREE_TRUSTED_PROXIES: '1',
    JOBTREE_ALLOWED_HOSTS: host,
  });
  behind = await startServer(db.url);
  key = (await makeKey(db, ['admin'])).key;
  asked = createServer((_, response) => response.writeHead(said === undefined ? 401 : 202, said).end());
  asked.listen(0, '127.0.0.1');
  await once(asked, 'listening');
});
afterAll(async () => {
  if (withoutOpenssl) return;
  asked.close();
  await Promise.all([app.close(), behind.close()]);
  await db.drop();
  authority.remove();
});

describe.each(['nginx', 'caddy', 'nginx-auth', 'caddy-auth'])('%s', (name) => {
  const asksItself = name.endsWith('-auth');
  let proxy: DocumentedProxy;
  let caller: Record<string, string>;

  beforeAll(async () => {
    if (isMissing(name)) return;
    const asking = `http://127.0.0.1:${(asked.address() as AddressInfo).port}`;
    proxy = await startDocumentedProxy(name, authority.issue([`DNS:${host}`]), {
      secret,
      addresses: { '127.0.0.1:4000': app.url, '127.0.0.1:4180': asking },
    });
    said = asksItself ? { 'x-auth-request-user': 'ada', 'x-auth-request-groups': 'admin' } : undefined;
    caller = asksItself ? {} : bearer(key);
  });
  afterAll(() => proxy?.stop());

  const connection = () => ({
    host: '127.0.0.1',
    port: proxy.port,
    servername: host,
    ca: authority.cert,
    agent: false as const,
  });
  async function send(
    path: string,
    headers: Record<string, string>,
    body?: string | Buffer,
    options: RequestOptions = {},
  ): Promise<IncomingMessage> {
    const method = body === undefined ? 'GET' : 'POST';
    const request = open({
      ...connection(),
      ...options,
      path,
      method,
      headers: { host: `${host}:${proxy.port}`, ...headers },
    });
    request.end(body);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return response;
  }
  const ask = async (query: string, headers: Record<string, string>, padding = '') => {
    const body = JSON.stringify({ query, variables: { padding } });
    const response = await send('/graphql', { 'content-type': 'application/json', ...headers }, body);
    const answer = await text(response);
    return { status: response.statusCode, answer };
  };

  it.skipIf(isMissing(name))(
    'terminates TLS, serves nothing without it, and passes large requests and uploads',
    async () => {
      const answer = await ask('{ queues { type } }', caller, 'x'.repeat(7_000_000));
      expect(answer).toMatchObject({ status: 200, answer: expect.stringContaining('queues') });
      const plain = await new Promise<IncomingMessage>((resolve, reject) => {
        getPlain({ host: '127.0.0.1', port: proxy.port, path: '/healthz', agent: false }, resolve).on(
          'error',
          reject,
        );
      });
      expect(plain.resume().statusCode).toBe(400);
      const upload = await send(
        '/api/uploads',
        { 'content-type': 'application/octet-stream', ...caller },
        Buffer.alloc(20_000_000, 'x'),
      );
      expect([upload.statusCode, JSON.parse(await text(upload)).size]).toEqual([201, 20_000_000]);
    },
  );

  it.skipIf(isMissing(name))('passes a WebSocket and an event stream as they happen', async () => {
    const id = await createJob(behind.url, { type: name, items: [{}, {}], sealed: false });
    const client = createClient({
      url: `wss://127.0.0.1:${proxy.port}/graphql`,
      webSocketImpl: class extends WebSocket {
        constructor(url: string, protocols: string) {
          super(url, protocols, {
            ...connection(),
            headers: { host: `${host}:${proxy.port}`, origin: `https://${host}:${proxy.port}` },
          });
        }
      },
      retryAttempts: 0,
      connectionParams: caller,
    });
    const events = client.iterate<any>({ query: progress, variables: { id } });
    expect((await events.next()).value.data.jobProgress).toEqual({ succeeded: 0 });
    const query = new URLSearchParams({ query: progress, variables: JSON.stringify({ id }) });
    const stream = await send(`/graphql?${query}`, { accept: 'text/event-stream', ...caller });
    let streamed = '';
    stream.on('data', (chunk) => (streamed += chunk));
    await until('the state', () => streamed.includes('"succeeded":0'));
    await work(behind.url, name, 1);
    await until('the first', () => streamed.includes('"succeeded":1'));
    for await (const event of events) if (event.data?.jobProgress.succeeded === 1) break;
    stream.destroy();
    await client.dispose();
    await data(behind.url, 'mutation ($id: ID!) { cancelJob(input: { jobId: $id }) { __typename } }', { id });
  });

  it.skipIf(isMissing(name))('removes what callers claim about themselves', async () => {
    const rotate = 'mutation { setQueue(input: { type: "proxied", paused: true }) { __typename } }';
    if (asksItself) {
      // Who it is, says the proxy alone, also where it says nothing.
      said = { 'x-auth-request-user': 'ada', 'x-auth-request-groups': 'watcher' };
      expect((await ask('{ queues { type } }', forged)).answer).toContain('"queues"');
      expect((await ask(rotate, forged)).answer).toContain('FORBIDDEN');
      said = { 'x-auth-request-user': 'ada' };
      expect((await ask('{ queues { type } }', forged)).status).toBe(401);
      said = { 'x-auth-request-groups': 'admin' };
      expect((await ask('{ queues { type } }', forged)).status).toBe(401);
      said = undefined;
      expect((await ask('{ queues { type } }', { ...forged, 'jobtree-proxy-secret': secret })).status).toBe(
        401,
      );
      said = { 'x-auth-request-user': 'ada', 'x-auth-request-groups': 'admin' };
    } else {
      expect((await ask('{ queues { type } }', forged)).status).toBe(401);
    }
    expect((await ask(rotate, { ...forged, ...caller })).status).toBe(200);
    const [entry] = await db.query<{ address: string; actor: string; tenant: string | null }>(
      `select to_jsonb(a) ->> 'address' as address from jobtree.audit_entry a where to_jsonb(a) ->> 'outcome' = 'OK' order by at desc limit 1`,
    );
    expect(entry?.address).toBe('127.0.0.1');
  });
});
