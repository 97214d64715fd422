/** What a client address may have under way: bytes of requests and answers; and what becomes of those that stand still. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import pino from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { createApp } from '../../src/server/create-app.ts';
import { toClient } from '../../src/server/rights/addresses.ts';
import { createJob, data, work } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { openRaw } from '../support/raw-socket.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(env: Record<string, string> = {}, stalledAfterMs = 60_000): Promise<string> {
  const app = await createApp({
    config: readConfig({
      JOBTREE_PORT: '0',
      JOBTREE_TRUSTED_PROXIES: '1',
      JOBTREE_MAX_REQUEST_BYTES: '25000000',
      ...env,
    }),
    databaseUrl: db.url,
    logger: pino({ level: 'silent' }),
    times: { stalledAfterMs },
  });
  closers.push(() => app.close());
  return app.url;
}

interface RawHttp {
  readonly socket: Socket;
  /** What was received, once it has so many bytes. */
  received(bytes: number): Promise<string>;
  readonly closed: Promise<unknown>;
}

/** A connection that sends a text, and reads what comes only when it is asked to. */
async function raw(url: string, text: string, reads = true): Promise<RawHttp> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  closers.push(() => socket.destroy());
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await once(socket, 'connect');
  let got = '';
  let look = () => {};
  if (reads) {
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      got += chunk;
      look();
    });
  }
  socket.write(text);
  const received = (bytes: number) =>
    new Promise<string>((resolve, reject) => {
      look = () => got.length >= bytes && resolve(got);
      look();
      void closed.then(() => reject(new Error('The connection was closed.')));
    });
  return { socket, received, closed };
}

const head = (client: string, length: number | string) =>
  [
    'POST /graphql HTTP/1.1',
    'Host: 127.0.0.1',
    `X-Forwarded-For: ${client}`,
    'Content-Type: application/json',
    typeof length === 'number' ? `Content-Length: ${length}` : length,
    '',
    '',
  ].join('\r\n');

const post = (client: string, query: string) => {
  const body = JSON.stringify({ query });
  return head(client, body.length) + body;
};

/** Asked until it is not refused any more: what was cut is heard of a little later. */
async function untilServed(url: string, client: string): Promise<void> {
  await eventually(async () => {
    const { received, socket } = await raw(url, post(client, '{ __typename }'));
    const text = await received(12);
    socket.destroy();
    expect(text).toContain('HTTP/1.1 200');
  });
}

describe('request bodies that are held open', () => {
  const large = 10_000_000;
  const env = { JOBTREE_CALLER_BYTES_UNDER_WAY: '35000000', JOBTREE_MAX_BYTES_UNDER_WAY: '55000000' };

  it('are refused beyond the limit of an address, and beyond that of all', async () => {
    const url = await start(env);
    const held: RawHttp[] = [];
    for (let i = 0; i < 3; i++) held.push(await raw(url, head('1.1.1.1', large) + '{'.repeat(1_000)));
    // A round trip: the others are known by now.
    await data(url, '{ __typename }');
    const fourth = await (await raw(url, head('1.1.1.1', large))).received(100);
    expect(fourth).toMatch(/^HTTP\/1.1 429 .*retry-after: 1\r\n.*UNAVAILABLE/is);
    for (let i = 0; i < 2; i++) held.push(await raw(url, head('2.2.2.2', large)));
    await data(url, '{ __typename }');
    const another = await (await raw(url, head('3.3.3.3', large))).received(100);
    expect(another).toMatch(/^HTTP\/1.1 503 .*retry-after: 1\r\n/is);
    for (const { socket } of held) socket.destroy();
    await untilServed(url, '1.1.1.1');
  });

  it('are limited per address so that others still get in', async () => {
    const url = await start({ JOBTREE_MAX_REQUESTS: '10' });
    for (let i = 0; i < 9; i++) await raw(url, head('1.1.1.1', 100));
    await untilServed(url, '2.2.2.2');
    const tenth = await (await raw(url, head('1.1.1.1', 100))).received(100);
    expect(tenth).toMatch(/^HTTP\/1.1 429 .*retry-after: 1\r\n.*UNAVAILABLE/is);
    for (let i = 0; i < 3; i++) await untilServed(url, '2.2.2.2');
  });

  it('in chunks are cut off beyond the limit', async () => {
    const url = await start(env);
    for (let i = 0; i < 3; i++) await raw(url, head('1.1.1.1', large));
    await data(url, '{ __typename }');
    const chunked = await raw(url, head('1.1.1.1', 'Transfer-Encoding: chunked'));
    const size = 1_000_000;
    for (let i = 0; i < 8; i++) chunked.socket.write(`${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`);
    await chunked.closed;
    await data(url, '{ __typename }');
  });

  it('as messages of a WebSocket end the socket with 1013', async () => {
    const url = await start(env);
    const sockets = await Promise.all(
      Array.from({ length: 5 }, () => openRaw(url, { headers: { 'x-forwarded-for': '1.1.1.1' } })),
    );
    for (const { socket } of sockets) {
      closers.push(() => socket.terminate());
      for (let i = 0; i < 10; i++) socket.send('x'.repeat(1_000_000), { fin: false });
    }
    expect(await Promise.race(sockets.map(({ closed }) => closed))).toBe(1013);
  });

  it('and stand still are cut off', async () => {
    const url = await start({}, 300);
    await (await raw(url, `${head('1.1.1.1', 1_000)}{"query":`)).closed;
  });
});

describe('unread answers', () => {
  it('are refused beyond the limit of an address, and cut off when they stand still', async () => {
    const setUp = await start();
    const type = 'unread';
    const id = await createJob(setUp, { type, items: Array.from({ length: 20 }, () => ({})) });
    await work(setUp, type, 20, 'x'.repeat(990_000));
    // Long enough for all that is asked meanwhile, on a busy machine too.
    const url = await start({ JOBTREE_CALLER_BYTES_UNDER_WAY: '50000000' }, 8_000);
    const query = `{ job(id: "${id}") { items(first: 20) { nodes { result } } } }`;
    const unread = await Promise.all(
      Array.from({ length: 6 }, () => raw(url, post('1.1.1.1', query), false)),
    );
    // Each of them has begun, or was refused.
    for (const { socket } of unread) if (socket.readableLength === 0) await once(socket, 'readable');
    const refused = unread.filter(({ socket }) => String(socket.read()).startsWith('HTTP/1.1 429'));
    expect(refused.length).toBeGreaterThanOrEqual(4);
    expect(refused.length).toBeLessThan(6);
    // On a WebSocket it is the same.
    const ours = await openRaw(url, { headers: { 'x-forwarded-for': '1.1.1.1' } });
    closers.push(() => ours.socket.terminate());
    ours.send({ type: 'subscribe', id: '1', payload: { query } });
    const answer = await ours.until((message) => message.id === '1');
    expect(answer.payload.errors?.[0].extensions).toEqual({ code: 'UNAVAILABLE' });
    // Others are not concerned.
    const theirs = await raw(url, post('2.2.2.2', query));
    expect(await theirs.received(15_000_000)).toContain('HTTP/1.1 200');
    theirs.socket.destroy();
    // Those that stand still are cut: then there is room again.
    await eventually(async () => {
      const again = await raw(url, post('1.1.1.1', query));
      expect(await again.received(12)).toContain('HTTP/1.1 200');
    });
  });
});

it.each([
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
  ['[2001:db8:1:2::9]:4000', '2001:db8:1:2::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::ffff:10.1.2.3', '10.1.2.3'],
  ['10.1.2.3', '10.1.2.3'],
  ['10.1.2.3:5555', '10.1.2.3'],
  ['unknown', 'unknown'],
])('a client at %s is counted as %s', (address, client) => {
  expect(toClient(address)).toBe(client);
});
