/** Requests that are refused before anything is run: other hosts, pages of other sites, forms, and what is no request for a path. */
import { once } from 'node:events';
import { type IncomingMessage, request as open } from 'node:http';
import { connect } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { data } from '../support/api.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

const { db, app } = useServer();
let port: string;
beforeAll(async () => {
  port = new URL(app.url).port;
});

interface Answer {
  status: number | undefined;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

/** With headers that fetch does not let anybody set. */
async function send(
  headers: Record<string, string>,
  { method = 'GET', path = '/graphql', body = '', url = app.url } = {},
): Promise<Answer> {
  const sent = open({ host: '127.0.0.1', port: new URL(url).port, method, path, headers });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) };
}

const query = '/graphql?query={__typename}';
const isAnswered = ({ status, body }: Answer) => status === 200 && String(body).includes('"Query"');

async function upgrade(headers: Record<string, string>): Promise<number> {
  const socket = new WebSocket(app.url.replace('http', 'ws'), 'graphql-transport-ws', { headers });
  const status = await new Promise<number>((resolve) => {
    socket.on('open', () => resolve(101));
    socket.on('unexpected-response', (_, response) => resolve(response.statusCode ?? 0));
    socket.on('error', () => {});
  });
  socket.terminate();
  return status;
}

describe('a host', () => {
  it.each(['localhost', 'LOCALHOST', 'app.localhost', '127.0.0.1', '192.168.1.2', '[::1]'])(
    'that is an IP address or this machine is served: %s',
    async (host) => {
      expect(await send({ host: `${host}:${port}` }, { path: query })).toSatisfy(isAnswered);
    },
  );

  it.each(['rebound.example', 'localhost.rebound.example', '127.0.0.1.rebound.example'])(
    'that a name server could have pointed here is refused in every way: %s',
    async (name) => {
      const host = `${name}:${port}`;
      const body = '{"query": "{ __typename }"}';
      const json = { 'content-type': 'application/json' };
      const ways = [
        await send({ host }, { path: query }),
        await send({ host, accept: 'text/event-stream' }, { path: query }),
        await send({ host, ...json }, { method: 'POST', body }),
        await send({ host, ...json, origin: `http://${host}` }, { method: 'POST', body }),
        await send({ host, accept: 'text/html' }),
      ];
      for (const { status, body } of ways) {
        expect(status).toBe(403);
        expect(String(body)).toContain('JOBTREE_ALLOWED_HOSTS');
      }
      expect(await upgrade({ host, origin: `http://${host}` })).toBe(403);
      expect(await upgrade({ host })).toBe(403);
    },
  );

  it('that is allowed is served, with its own pages', async () => {
    const server = await startServer(db.url, { JOBTREE_ALLOWED_HOSTS: 'jobs.example' });
    const own = { host: 'jobs.example', origin: 'https://jobs.example', 'sec-fetch-site': 'same-origin' };
    expect(await send(own, { path: query, url: server.url })).toSatisfy(isAnswered);
    expect((await send({ host: 'other.example' }, { path: query, url: server.url })).status).toBe(403);
    await server.close();
  });
});

describe('a page of another site', () => {
  it.each(['cross-site', 'same-site'])('executes nothing without an Origin: %s', async (site) => {
    const foreign = { 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors' };
    expect((await send({ ...foreign, 'sec-fetch-dest': 'image' }, { path: query })).status).toBe(403);
    expect((await send({ ...foreign, accept: 'text/event-stream' }, { path: query })).status).toBe(403);
    const frame = { 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' };
    expect((await send({ ...frame, accept: 'text/html' })).status).toBe(403);
  });

  it('may link to GraphiQL, where nothing is executed', async () => {
    const link = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    };
    const page = await send({ ...link, accept: 'text/html,*/*' }, { path: query });
    expect(page.status).toBe(200);
    expect(page.headers['content-type']).toContain('text/html');
    expect((await send({ ...link, accept: 'application/json' }, { path: query })).status).toBe(403);
  });

  it('may use the API if its origin is allowed', async () => {
    const server = await startServer(db.url, { JOBTREE_ALLOWED_ORIGINS: 'https://a.example' });
    const page = { origin: 'https://a.example', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' };
    expect(await send(page, { path: query, url: server.url })).toSatisfy(isAnswered);
    await server.close();
  });

  it.each([
    ['application/x-www-form-urlencoded', (mutation: string) => `query=${encodeURIComponent(mutation)}`],
    ['text/plain', (mutation: string) => JSON.stringify({ query: mutation })],
    [
      'multipart/form-data; boundary=x',
      (mutation: string) =>
        `--x\r\nContent-Disposition: form-data; name="operations"\r\n\r\n${JSON.stringify({ query: mutation })}\r\n--x--\r\n`,
    ],
  ])('executes no mutation by a form without an Origin: %s', async (type, encode) => {
    const body = encode('mutation { createJob(input: { type: "forged" }) { __typename } }');
    const { status } = await send({ 'content-type': type }, { method: 'POST', body });
    expect(status).toBe(415);
    expect(await db.query(`select from jobtree.job where type = 'forged'`)).toHaveLength(0);
  });
});

describe('GraphiQL', () => {
  const browser = { accept: 'text/html', 'accept-encoding': 'gzip, deflate, br' };
  const assets = async () =>
    [...String((await send(browser)).body).matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(
      ([, path]) => path ?? '',
    );

  it('has a page that browsers revalidate and that no other page shows in a frame', async () => {
    const page = await send(browser);
    expect(page.headers).toMatchObject({
      'content-security-policy': expect.stringMatching(/default-src 'self'.*frame-ancestors 'none'/),
      'x-frame-options': 'DENY',
      'cache-control': 'no-cache',
      vary: 'accept',
    });
    const again = await send({ ...browser, 'if-none-match': page.headers.etag as string });
    expect([again.status, again.body.length]).toEqual([304, 0]);
  });

  it('has compressed files of less than a megabyte, which browsers cache', async () => {
    const paths = await assets();
    expect(paths).toHaveLength(2);
    let bytes = 0;
    for (const path of paths) {
      const file = await send({ 'accept-encoding': 'gzip' }, { path });
      expect(file.headers).toMatchObject({
        'content-encoding': 'gzip',
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
        vary: 'accept-encoding',
      });
      bytes += file.body.length;
      const plain = await send({}, { path });
      expect(plain.headers['content-encoding']).toBeUndefined();
      expect(plain.body.equals(gunzipSync(file.body))).toBe(true);
    }
    expect(bytes).toBeLessThan(1_000_000);
  });

  it.each(['/graphql/graphiql-0123456789abcdef.js', '/graphql/graphiql-x.js', '/graphql/../package.json'])(
    'has no other file: %s',
    async (path) => {
      expect((await send({}, { path })).status).toBe(404);
    },
  );
});

it.each(['GET http://localhost/graphql?query={__typename}', 'OPTIONS *', 'GET graphql'])(
  'a request target that is not a path is refused without a stack: %s',
  async (line) => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(`${line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    const text = String(Buffer.concat(chunks));
    expect(text).toMatch(/^HTTP\/1.1 400 /);
    expect(text).not.toMatch(/\n +at /);
  },
);

it.each(['br', 'gzip', 'x'])('a body with a Content-Encoding is refused: %s', async (encoding) => {
  const headers = { 'content-type': 'application/json', 'content-encoding': encoding };
  const body = '{"query": "{ __typename }"}';
  expect((await send(headers, { method: 'POST', body })).status).toBe(415);
  expect(await send({ ...headers, 'content-encoding': 'identity' }, { method: 'POST', body })).toSatisfy(
    isAnswered,
  );
});

it('every answer during the shutdown delay is the last on its connection', async () => {
  const server = await startServer(db.url, { JOBTREE_SHUTDOWN_DELAY_MS: '1000' });
  expect(
    (await send({ connection: 'keep-alive' }, { path: query, url: server.url })).headers.connection,
  ).toBe('keep-alive');
  const closed = server.close();
  for (const path of [query, '/healthz', '/readyz']) {
    const { headers } = await send({ connection: 'keep-alive' }, { path, url: server.url });
    expect(headers.connection).toBe('close');
  }
  expect(await data(server.url, '{ __typename }')).toBeDefined();
  await closed;
});
