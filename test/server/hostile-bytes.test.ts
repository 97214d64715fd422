/** Clients that hold what they can, against a server in a process of its own: its memory stays below 600 MB, and others are served. */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { createJob, data, work } from '../support/api.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { openRaw } from '../support/raw-socket.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';

const mostMb = 600;

let db: TestDatabase;
let server: ServerProcess;
const sockets: { destroy(): unknown }[] = [];
beforeAll(async () => {
  db = await createDatabase();
});
beforeEach(async () => {
  server = await startServerProcess(db.url);
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  expect(await server.end()).toBe(0);
});
afterAll(async () => {
  await db.drop();
});

/** The most memory that the server's process ever had, in megabytes. */
const peakMb = () =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.process.pid}/status`, 'utf8'))?.[1]) / 1_000;

async function expectServing(): Promise<void> {
  // The heap follows what waits on it: several looks at it, and others' requests meanwhile.
  let slowestMs = 0;
  for (let i = 0; i < 40; i++) {
    const startedAt = performance.now();
    expect(await data(server.url, '{ jobs(first: 1) { nodes { id } } }')).toBeDefined();
    slowestMs = Math.max(slowestMs, performance.now() - startedAt);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  console.log(`peak ${Math.round(peakMb())} MB, slowest of others ${Math.round(slowestMs)} ms`);
  expect(peakMb()).toBeLessThan(mostMb);
}

function open(): Socket {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname).on('error', () => {});
  sockets.push(socket);
  return socket;
}

const head = (length: number) =>
  `POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

/** Only Linux tells how much memory a process had. */
const onLinux = it.skipIf(process.platform !== 'linux');

onLinux('60 bodies, each of which lacks its end', async () => {
  const chunk = Buffer.alloc(1_000_000, 120);
  for (let i = 0; i < 60; i++) {
    const socket = open();
    socket.write(head(25_000_000));
    for (let n = 0; n < 24; n++) socket.write(chunk);
  }
  await expectServing();
});

onLinux('20 messages of WebSockets, each of which lacks its end', async () => {
  const chunk = Buffer.alloc(1_000_000, 120);
  for (let i = 0; i < 20; i++) {
    const { socket } = await openRaw(server.url);
    sockets.push({ destroy: () => socket.terminate() });
    for (let n = 0; n < 24; n++) socket.send(chunk, { fin: false });
  }
  await expectServing();
});

onLinux('large pings on 10 sockets that read no pongs', async () => {
  const text = JSON.stringify({ type: 'ping', payload: { x: 'x'.repeat(1_000_000) } });
  for (let i = 0; i < 10; i++) {
    const { socket } = await openRaw(server.url);
    sockets.push({ destroy: () => socket.terminate() });
    socket.pause();
    for (let n = 0; n < 30; n++) socket.send(text);
  }
  await expectServing();
});

onLinux('15 answers of 60 MB that nobody reads', async () => {
  const id = await createJob(server.url, { type: 'large', items: Array.from({ length: 60 }, () => ({})) });
  for (let i = 0; i < 6; i++) await work(server.url, 'large', 10, 'x'.repeat(990_000));
  const body = JSON.stringify({ query: `{ job(id: "${id}") { items(first: 60) { nodes { result } } } }` });
  for (let i = 0; i < 15; i++) {
    const socket = open();
    socket.pause();
    socket.write(head(body.length) + body);
  }
  await expectServing();
});
