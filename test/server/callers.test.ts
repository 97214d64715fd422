/** For whom counts what requests and connections take: for who somebody is, or for the address of a stranger. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createClient } from 'graphql-ws';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { App } from '../../src/server/create-app.ts';
import { createDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { openRaw, type RawSocket } from '../support/raw-socket.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function start(env: Record<string, string> = {}): Promise<App> {
  const app = await startServer(db.url, { JOBTREE_AUTH: 'keys', ...env });
  ends.push(() => app.close());
  return app;
}

function ask(app: App, headers: Record<string, string>) {
  return fetch(app.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query: '{ __typename }' }),
  });
}

function open(app: App): Socket {
  const { hostname, port } = new URL(app.url);
  const socket = connect(Number(port), hostname).on('error', () => {});
  ends.push(() => socket.destroy());
  return socket;
}

const lines = (first: string, headers: Record<string, string>) =>
  `${[first, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)].join('\r\n')}\r\n\r\n`;

/** A request whose body never comes; the server has let it in. */
const hang = (app: App, headers: Record<string, string>) => eventually(() => begin(app, headers));

async function begin(app: App, headers: Record<string, string>): Promise<void> {
  const socket = open(app);
  const all = {
    host: 'localhost',
    'content-type': 'application/json',
    'content-length': '1000',
    expect: '100-continue',
    ...headers,
  };
  socket.write(lines('POST /graphql HTTP/1.1', all));
  const [answer] = await once(socket, 'data');
  expect(String(answer)).toMatch(/^HTTP\/1.1 100 /);
}

describe('concurrent requests', () => {
  it('of one key count together from all addresses, and those of two keys at one address do not', async () => {
    const app = await start({ JOBTREE_MAX_REQUESTS: '10', JOBTREE_TRUSTED_PROXIES: '1' });
    const [one, other] = [await makeKey(db, ['admin']), await makeKey(db, ['admin'])];
    for (let i = 0; i < 9; i++) await hang(app, { ...bearer(one.key), 'x-forwarded-for': `198.51.100.${i}` });
    const from = (address: string) => ({ 'x-forwarded-for': address });
    await expect
      .poll(async () => {
        const { status } = await ask(app, { ...bearer(one.key), ...from('198.51.100.200') });
        // One of them may be over already, on a busy machine.
        if (status !== 429) await hang(app, { ...bearer(one.key), ...from('198.51.100.201') });
        return status;
      })
      .toBe(429);
    expect((await ask(app, { ...bearer(other.key), ...from('198.51.100.1') })).status).toBe(200);
  });
});

describe('strangers', () => {
  it.each([
    ['what browsers ask first', 'OPTIONS', { origin: 'http://localhost' }],
    ['the page of GraphiQL', 'GET', { accept: 'text/html, text/event-stream' }],
  ])(
    'that ask for %s with a body that never comes take no slot of others, and are cut off',
    async (_, method, headers) => {
      const app = await start({ JOBTREE_MAX_REQUESTS: '10' });
      const { key } = await makeKey(db, ['admin']);
      const sockets = Array.from({ length: 30 }, () => {
        const socket = open(app);
        const all = {
          host: 'localhost',
          accept: 'text/event-stream',
          'content-length': '1000',
          'content-type': 'application/json',
          ...headers,
        };
        socket.write(lines(`${method} /graphql HTTP/1.1`, all));
        socket.resume();
        return once(socket, 'close');
      });
      expect((await ask(app, bearer(key))).status).toBe(200);
      await Promise.all(sockets);
    },
  );

  it('of one address that keep a file of GraphiQL waiting have their own slots', async () => {
    const app = await start({ JOBTREE_MAX_REQUESTS: '10' });
    const { key } = await makeKey(db, ['admin']);
    const page = await (await fetch(app.url, { headers: { accept: 'text/html' } })).text();
    const [, file = ''] = /src="([^"]+)"/.exec(page) ?? [];
    for (let i = 0; i < 30; i++) {
      const socket = open(app);
      socket.pause();
      // Many, so that the buffers of the system are full.
      for (let n = 0; n < 3; n++) socket.write(lines(`GET ${file} HTTP/1.1`, { host: 'localhost' }));
    }
    for (let i = 0; i < 3; i++) expect((await ask(app, bearer(key))).status).toBe(200);
  });
});

describe('keys that are new to a server', () => {
  it('are all looked up when many come from one address at once, as at a restart', async () => {
    const keys = await Promise.all(Array.from({ length: 100 }, () => makeKey(db, ['watcher'])));
    const app = await start();
    const statuses = await Promise.all(keys.map(async ({ key }) => (await ask(app, bearer(key))).status));
    expect(new Set(statuses)).toEqual(new Set([200]));
  });

  it('are refused for a moment at an address that has sent many invalid ones', async () => {
    const stranger = await createDatabase();
    ends.push(() => stranger.drop());
    const app = await start();
    // On a busy machine the moment may be over before the good key has come: then others are shown, since those are known by now.
    const { key, refused } = await eventually(async () => {
      const bad = await Promise.all(Array.from({ length: 40 }, () => makeKey(stranger, ['watcher'])));
      const { key } = await makeKey(db, ['watcher']);
      const statuses = await Promise.all(bad.map(async (one) => (await ask(app, bearer(one.key))).status));
      expect(statuses[0]).toBe(401);
      const refused = await ask(app, bearer(key));
      expect(refused.status).toBe(503);
      return { key, refused };
    });
    expect(refused.headers.get('retry-after')).toBe('1');
    await expect.poll(async () => (await ask(app, bearer(key))).status).toBe(200);
  });
});

describe('connections', () => {
  const hello = (socket: RawSocket, key: string) => {
    socket.send({ type: 'connection_init', payload: bearer(key) });
    return Promise.race([
      socket.until(({ type }) => type === 'connection_ack').then(() => 'acknowledged'),
      socket.closed,
    ]).catch(() => socket.closed);
  };
  const openFrom = async (app: App, address: string) => {
    const socket = await openRaw(app.url, { hello: false, headers: { 'x-forwarded-for': address } });
    ends.push(() => socket.socket.terminate());
    return socket;
  };

  it('of one key count together from all addresses, and those of two keys at one address do not', async () => {
    const app = await start({ JOBTREE_CALLER_CONNECTIONS: '3', JOBTREE_TRUSTED_PROXIES: '1' });
    const [one, other] = [await makeKey(db, ['admin']), await makeKey(db, ['admin'])];
    const sockets: RawSocket[] = [];
    for (let i = 0; i < 3; i++) {
      const socket = await openFrom(app, `198.51.100.${i}`);
      expect(await hello(socket, one.key)).toBe('acknowledged');
      sockets.push(socket);
    }
    expect(await hello(await openFrom(app, '198.51.100.9'), one.key)).toBe(1013);
    for (let i = 0; i < 3; i++) {
      expect(await hello(await openFrom(app, '198.51.100.0'), other.key)).toBe('acknowledged');
    }
    const stream = await fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...bearer(one.key) },
      body: JSON.stringify({ query: 'subscription { queues { type } }' }),
    });
    expect(stream.status).toBe(429);
    await stream.body?.cancel();
    sockets[0]?.socket.terminate();
    await expect.poll(async () => hello(await openFrom(app, '198.51.100.9'), one.key)).toBe('acknowledged');
  });
});

it('a socket with credentials in its headers needs none in its payload', async () => {
  const app = await start();
  const { key } = await makeKey(db, ['admin']);
  const client = createClient({
    url: app.url.replace('http', 'ws'),
    webSocketImpl: class extends WebSocket {
      constructor(address: string, protocols: string) {
        super(address, protocols, { headers: bearer(key) });
      }
    },
  });
  ends.push(() => client.dispose());
  for await (const answer of client.iterate({ query: '{ __typename }' }))
    expect(answer.data).toEqual({ __typename: 'Query' });
});
