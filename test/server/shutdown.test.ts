/**
 * Operations that come on an open socket while the server shuts down: no answer, but the end of the socket, so that clients come again. And what
 * does not arrive in full, which nobody waits for.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { App } from '../../src/server/create-app.ts';
import { createJob, data, work } from '../support/api.ts';
import { bundle } from '../support/bundle.ts';
import { createAuthority, withoutOpenssl } from '../support/certificates.ts';
import { closed } from '../support/closed.ts';
import { example } from '../support/documentation.ts';
import { eventually } from '../support/eventually.ts';
import { lockWaiters } from '../support/locks.ts';
import { freePort } from '../support/ports.ts';
import { openRaw } from '../support/raw-socket.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Holds a row, so that a mutation of the job waits for it; returns what lets it go. */
async function hold(jobId: string): Promise<() => Promise<void>> {
  const holder = await db.connect();
  await holder.query('begin');
  await holder.query('select from jobtree.job where id = $1 for update', [jobId.slice(4)]);
  return async () => {
    await holder.query('commit');
    await holder.end();
  };
}

const sealing = (id: string) => `mutation { sealJob(input: { jobId: "${id}" }) { __typename } }`;
const watching = (id: string) => `subscription { jobProgress(jobId: "${id}") { status } }`;

it('an idle socket is closed at once, and one with a pending answer after that', async () => {
  const server = await startServer(db.url);
  const id = await createJob(server.url, { type: 'busy', items: [{}] });
  const idle = await openRaw(server.url);
  idle.send({ type: 'subscribe', id: 'watch', payload: { query: watching(id) } });
  await idle.until((message) => message.id === 'watch');
  const busy = await openRaw(server.url);
  const release = await hold(id);
  busy.send({ type: 'subscribe', id: 'seal', payload: { query: sealing(id) } });
  await lockWaiters(db, 1);
  const closed = server.close();
  for (const { send } of [idle, busy]) {
    send({ type: 'subscribe', id: 'late', payload: { query: watching(id) } });
  }
  expect(await idle.closed).toBe(1012);
  expect(busy.socket.readyState).toBe(WebSocket.OPEN);
  await release();
  expect((await busy.until((message) => message.id === 'seal')).payload.data.sealJob.__typename).toBe(
    'SealJobPayload',
  );
  expect(await busy.closed).toBe(1012);
  await closed;
  for (const { messages } of [idle, busy])
    expect(messages.filter((message) => message.id === 'late')).toEqual([]);
});

it('the documented client of graphql-ws that subscribes just then continues with the next server', async () => {
  const port = String(await freePort());
  const server = await startServer(db.url, { JOBTREE_PORT: port });
  const other = await createJob(server.url, { type: 'held' });
  const id = await createJob(server.url, { type: 'followed', sealed: true, items: [{}] });
  const release = await hold(other);
  const busy = await openRaw(server.url);
  busy.send({ type: 'subscribe', id: 'seal', payload: { query: sealing(other) } });
  await lockWaiters(db, 1);

  let closed: Promise<void> | undefined;
  class ClosingSocket extends WebSocket {
    override send(text: any, ...rest: any[]): void {
      if (closed === undefined && String(text).includes('"subscribe"')) closed = server.close();
      (super.send as (...args: unknown[]) => void)(text, ...rest);
    }
  }
  const { code } = await bundle({ main: example('watching.md', 'graphql-ws') }, 'node');
  const { follow } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  const shown: string[] = [];
  const following: Promise<void> = follow(
    server.url.replace('http', 'ws'),
    id,
    (message: string) => shown.push(message),
    { webSocketImpl: ClosingSocket },
  );
  await eventually(() => expect(closed).toBeDefined());
  await release();
  await closed;
  const next: App = await startServer(db.url, { JOBTREE_PORT: port });
  closers.push(() => next.close());
  await work(next.url, 'followed', 1);
  await following;
  expect(shown.at(-1)).toBe('Job complete');
});

const body = '{"query":"{ __typename }"}';
const head = 'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
const upload = 'POST /api/uploads HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\n';
const upgrade =
  'GET /graphql HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';
const begun = {
  nothing: '',
  'half a head': head,
  'half a body': `${head}Content-Length: 1000\r\n\r\n{`,
  'half a body in chunks': `${head}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`,
  'half an upload': `${upload}Content-Length: 1000\r\n\r\nx`,
  'half a handshake of a WebSocket': upgrade,
  'a whole request, and half another': `${head}Content-Length: ${body.length}\r\n\r\n${body}${head}`,
};
/** The beginning of a ClientHello. */
const hello = Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]);

async function open(url: string, text: string | Buffer) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).on('error', () => {});
  closers.push(() => socket.destroy());
  await once(socket, 'connect');
  if (text.length > 0) socket.write(text);
  return socket.resume();
}

describe('a shutdown with ten minutes for what is under way', () => {
  const slowly = { JOBTREE_SHUTDOWN_TIMEOUT_MS: '600000' };

  it('does not wait for clients that have sent half a request, or send it a byte at a time', async () => {
    const server = await startServer(db.url, slowly);
    const sockets = await Promise.all(Object.values(begun).map((text) => open(server.url, text)));
    const dripping = await open(server.url, begun['half a body in chunks']);
    const drops = setInterval(() => dripping.write('1\r\n \r\n'), 50);
    dripping.once('close', () => clearInterval(drops));
    // A round trip, by which the server has read what they sent.
    await data(server.url, '{ __typename }');
    const ended = [...sockets, dripping].map(closed);
    await Promise.all([...ended, server.close()]);
  });

  it.skipIf(withoutOpenssl)(
    'does not wait for a client that has sent half a TLS handshake',
    async () => {
      const authority = createAuthority();
      closers.push(authority.remove);
      const { certFile, keyFile } = authority.issue(['IP:127.0.0.1']);
      const files = { JOBTREE_TLS_CERT_FILE: certFile, JOBTREE_TLS_KEY_FILE: keyFile };
      const server = await startServer(db.url, { ...slowly, ...files });
      const sockets = [await open(server.url, hello), await open(server.url, '')];
      const ended = sockets.map(closed);
      await Promise.all([...ended, server.close()]);
    },
    9_000,
  );

  it('waits for a request that goes on arriving', async () => {
    const server = await startServer(db.url, slowly);
    const stalled = await open(server.url, begun['half a body']);
    const uploading = await open(server.url, `${upload}Transfer-Encoding: chunked\r\n\r\n`);
    let answer = '';
    uploading.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
    });
    await data(server.url, '{ __typename }');
    const stopped = server.close();
    const chunk = `${(20_000).toString(16)}\r\n${'x'.repeat(20_000)}\r\n`;
    const sending = setInterval(() => uploading.write(chunk), 5);
    await closed(stalled);
    clearInterval(sending);
    uploading.write('0\r\n\r\n');
    await Promise.all([closed(uploading), stopped]);
    expect(answer).toMatch(/^HTTP\/1.1 201 /);
  });
});
