/** What a connection may do, and what becomes of it: limits, mistakes, and the server's end. */
import { once } from 'node:events';
import { type Client, createClient } from 'graphql-ws';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { collectSse, createJob, data, request } from '../support/api.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

const { db, app } = useServer();
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(env: Record<string, string>): Promise<string> {
  const server = await startServer(db.url, env);
  closers.push(() => server.close());
  return server.url;
}

function connectTo(url: string): Client {
  const client = createClient({
    url: url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    lazyCloseTimeout: 10_000,
  });
  closers.push(() => client.dispose());
  return client;
}

const watchJob = (id: string) => ({
  query: 'subscription ($id: ID!) { jobProgress(jobId: $id) { sealed } }',
  variables: { id },
});
const seal = (url: string, id: string) =>
  data(url, `mutation ($id: ID!) { sealJob(input: { jobId: $id }) { __typename } }`, { id });

/** An open socket without any library above it. */
async function open(url: string, headers: Record<string, string> = {}): Promise<WebSocket> {
  const socket = new WebSocket(url.replace('http', 'ws'), 'graphql-transport-ws', { headers });
  closers.push(() => socket.terminate());
  await once(socket, 'open');
  return socket;
}

/** The next message of a socket. */
async function message(socket: WebSocket): Promise<any> {
  const [text] = await once(socket, 'message');
  return JSON.parse(String(text));
}

async function closeCode(socket: WebSocket): Promise<number> {
  const [code] = await once(socket, 'close');
  return code;
}

describe('operations of a socket', () => {
  it('beyond the limit are refused; the others continue, and make room when they end', async () => {
    const url = await start({ JOBTREE_MAX_OPERATIONS_PER_SOCKET: '2' });
    const id = await createJob(url, { type: 'cap', items: [{}] });
    const client = connectTo(url);
    const first = client.iterate<any>(watchJob(id));
    const second = client.iterate<any>(watchJob(id));
    await first.next();
    await second.next();
    for (let i = 0; i < 3; i++) {
      await expect(client.iterate(watchJob(id)).next()).rejects.toMatchObject([
        { extensions: { code: 'TOO_MANY_OPERATIONS' } },
      ]);
    }
    await second.return?.();
    expect((await client.iterate<any>({ query: '{ __typename }' }).next()).value.data.__typename).toBe(
      'Query',
    );
    await seal(url, id);
    let sealed = false;
    while (!sealed) sealed = (await first.next()).value.data.jobProgress.sealed;
    await first.return?.();
  });

  it('that are invalid or fail are answered alone, as over HTTP and server-sent events', async () => {
    const id = await createJob(app.url, { type: 'wrong', items: [{}] });
    const client = connectTo(app.url);
    const going = client.iterate<any>(watchJob(id));
    await going.next();
    const unknown = 'Job:00000000-0000-7000-8000-000000000000';
    const wrong: [string, Record<string, unknown>?][] = [
      ['{{{'],
      ['{ nonsense }'],
      ['{ jobs(first: "x") { nodes { id } } }'],
      ['query ($first: Int) { jobs(first: $first) { nodes { id } } }', { first: 'x' }],
      ['{ jobs(first: -1) { nodes { id } } }'],
      ['subscription { nothing }'],
      ['subscription ($id: ID!) { jobProgress(jobId: $id) { sealed } }', {}],
      ['subscription { workAvailable(types: []) { types } }'],
      [`subscription { jobProgress(jobId: "${unknown}") { sealed } }`],
    ];
    for (const [query, variables] of wrong) {
      const told = (errors: any) =>
        errors.map(({ message, extensions }: any) => [message, extensions?.code, extensions?.field]);
      const socket = await client
        .iterate<any>({ query, variables: variables ?? null })
        .next()
        .then(({ value }) => value.errors)
        .catch((errors: unknown) => errors);
      expect([query, socket?.[0].message]).toEqual([query, expect.any(String)]);
      const accept = 'text/event-stream';
      const response = await fetch(app.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept },
        body: JSON.stringify({ query, variables }),
      });
      const text = await response.text();
      const line = text.split('\n').find((one) => one.startsWith('data: {'));
      expect([query, told(JSON.parse(line?.slice(6) ?? text).errors)]).toEqual([query, told(socket)]);
      if (query.startsWith('subscription')) continue;
      expect([query, told((await request(app.url, query, variables)).errors)]).toEqual([query, told(socket)]);
    }
    await expect(
      client.iterate({ query: 'query A { __typename } query B { __typename }' }).next(),
    ).rejects.toHaveLength(1);
    await seal(app.url, id);
    let sealed = false;
    while (!sealed) sealed = (await going.next()).value.data.jobProgress.sealed;
    await going.return?.();
  });

  it('under an id in use close the socket, as the protocol demands', async () => {
    const id = await createJob(app.url, { type: 'twice', items: [{}] });
    const socket = await open(app.url);
    socket.send('{"type": "connection_init"}');
    await message(socket);
    const subscribe = JSON.stringify({ type: 'subscribe', id: '1', payload: watchJob(id) });
    socket.send(subscribe);
    expect((await message(socket)).type).toBe('next');
    socket.send(subscribe);
    expect(await closeCode(socket)).toBe(4409);
  });
});

it('a socket that never initialises is closed', async () => {
  expect(await closeCode(await open(app.url))).toBe(4408);
});

it('a socket is read at a limited rate, and stays open', async () => {
  const url = await start({ JOBTREE_MAX_MESSAGES_PER_SECOND: '100' });
  const socket = await open(url);
  let count = 0;
  let waiting = () => {};
  socket.on('message', () => {
    count++;
    waiting();
  });
  const answers = (least: number) =>
    new Promise<void>((resolve) => {
      waiting = () => count >= least && resolve();
      waiting();
    });
  const startedAt = performance.now();
  socket.send('{"type": "connection_init"}');
  for (let i = 0; i < 300; i++) socket.send('{"type": "ping"}');
  // Others are served meanwhile.
  const other = connectTo(url);
  await other.iterate({ query: '{ __typename }' }).next();
  await answers(301);
  socket.send('{"type": "ping"}');
  await answers(302);
  // 302 messages, of which the first 100 are free.
  expect(performance.now() - startedAt).toBeGreaterThan(1_900);
  expect(socket.readyState).toBe(WebSocket.OPEN);
});

describe('connections of an address', () => {
  const refused = async (url: string, forwarded: string) => {
    const socket = new WebSocket(url.replace('http', 'ws'), 'graphql-transport-ws', {
      headers: { 'x-forwarded-for': forwarded },
    });
    const status = await new Promise((resolve) => {
      socket.on('unexpected-response', (_, response) => resolve(response.statusCode));
      socket.on('open', () => resolve('open'));
      socket.on('error', () => {});
    });
    socket.terminate();
    return status;
  };
  const stream = (url: string, id: string, forwarded: string, signal: AbortSignal | null = null) =>
    fetch(`${url}?query=${encodeURIComponent(`subscription { jobProgress(jobId: "${id}") { sealed } }`)}`, {
      headers: { accept: 'text/event-stream', 'x-forwarded-for': forwarded },
      signal,
    });

  it('are limited, sockets and event streams together, by the address from the trusted proxy', async () => {
    const url = await start({ JOBTREE_CALLER_CONNECTIONS: '2', JOBTREE_TRUSTED_PROXIES: '1' });
    const id = await createJob(url, { type: 'address', items: [{}] });
    const socket = await open(url, { 'x-forwarded-for': '9.9.9.9, 1.1.1.1' });
    const ending = new AbortController();
    expect((await stream(url, id, '1.1.1.1', ending.signal)).status).toBe(200);

    expect(await refused(url, '8.8.8.8, 1.1.1.1')).toBe(429);
    expect(await (await stream(url, id, '1.1.1.1')).text()).toContain('TOO_MANY_CONNECTIONS');
    expect(await refused(url, '1.1.1.1, 2.2.2.2')).toBe('open');
    expect((await fetch(url, { headers: { 'x-forwarded-for': '1.1.1.1' } })).status).not.toBe(429);

    ending.abort();
    await expect.poll(() => refused(url, '1.1.1.1')).toBe('open');
    socket.close();
    await once(socket, 'close');
  });

  it('are those of the peer if no proxy is trusted', async () => {
    const url = await start({ JOBTREE_CALLER_CONNECTIONS: '1' });
    await open(url, { 'x-forwarded-for': '1.1.1.1' });
    expect(await refused(url, '2.2.2.2')).toBe(429);
  });
});

describe('at shutdown the server', () => {
  it('first reports that it is not ready and continues, then closes sockets with 1012 and cuts event streams', async () => {
    const server = await startServer(db.url, { JOBTREE_SHUTDOWN_DELAY_MS: '1000' });
    const id = await createJob(server.url, { type: 'end', items: [{}] });
    const client = connectTo(server.url);
    const events = client.iterate<any>(watchJob(id));
    await events.next();
    const stream = collectSse(server.url, `subscription { jobProgress(jobId: "${id}") { sealed } }`);
    const cut = expect(stream).rejects.toThrow();

    const closed = server.close();
    const ready = await fetch(new URL('/readyz', server.url));
    expect([ready.status, await ready.text()]).toEqual([503, 'shutting down\n']);
    expect(await data(server.url, '{ __typename }')).toBeDefined();
    await expect(
      (async () => {
        for await (const _ of events);
      })(),
    ).rejects.toMatchObject({ code: 1012 });
    await cut;
    await closed;
  });
});
