/**
 * Clients that hold what they can, against a server in a process of its own: its memory stays below 600 MB, and others are served. They come where
 * nobody is asked, and as one of the roles, by turns; with HOSTILE=long as each.
 */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { createJob, request, work } from '../support/api.ts';
import { isLong, makeTokens, type RoleName, roleNames, type Tokens } from '../support/hostile/roles.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { openRaw } from '../support/raw-socket.ts';
import { type ServerProcess, startServer, startServerProcess } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const mostMb = 600;

/** Where nobody is asked who they are, `anybody`. */
type Sender = RoleName | 'anybody';

const db = useDatabase();
let server: ServerProcess;
/** A job with 60 results of a megabyte. */
let large: string;
let tokens: Tokens;
/** Of somebody else. */
let other: string;
const sockets: { destroy(): unknown }[] = [];
beforeAll(async () => {
  const open = await startServer(db.url);
  large = await createJob(open.url, { type: 'large', items: Array.from({ length: 60 }, () => ({})) });
  for (let i = 0; i < 10; i++) await work(open.url, 'large', 6, 'x'.repeat(990_000));
  await open.close();
  const asking = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
  tokens = await makeTokens(db, asking.url, { id: large, type: 'large' });
  await asking.close();
  other = (await makeKey(db, ['watcher'])).key;
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  expect(await server.end()).toBe(0);
});

/** Starts the server, and gives what its clients show. */
async function startFor(sender: Sender): Promise<Record<string, string>> {
  server = await startServerProcess(db.url, sender === 'anybody' ? {} : { JOBTREE_AUTH: 'keys' });
  const token = sender === 'anybody' ? undefined : tokens[sender];
  return token === undefined ? {} : bearer(token);
}

/** The most memory that the server's process ever had, in megabytes. */
const peakMb = () =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.process.pid}/status`, 'utf8'))?.[1]) / 1_000;

async function expectServing(): Promise<void> {
  // The heap follows what waits on it: several looks at it, and others' requests meanwhile.
  let slowestMs = 0;
  for (let i = 0; i < 40; i++) {
    const startedAt = performance.now();
    const answer = await request(server.url, '{ jobs(first: 1) { nodes { id } } }', {}, bearer(other));
    expect(answer.data.jobs.nodes).toHaveLength(1);
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

const head = (length: number, shown: Record<string, string>) =>
  [
    'POST /graphql HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    `Content-Length: ${length}`,
    ...Object.entries(shown).map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n');

/** A WebSocket that has said hello. A stranger gets none, which is as good. */
async function openSocket(shown: Record<string, string>) {
  const raw = await openRaw(server.url, { headers: shown }).catch((error: Error) => error);
  if (!(raw instanceof Error)) sockets.push({ destroy: () => raw.socket.terminate() });
  else expect(raw.message).toContain('closed with 4403');
  return raw instanceof Error ? undefined : raw.socket;
}

const attacks: [string, (shown: Record<string, string>) => Promise<void>][] = [
  [
    '60 bodies, each of which lacks its end',
    async (shown) => {
      const chunk = Buffer.alloc(1_000_000, 120);
      for (let i = 0; i < 60; i++) {
        const socket = open();
        socket.write(head(8_000_000, shown));
        for (let n = 0; n < 7; n++) socket.write(chunk);
      }
    },
  ],
  [
    '20 messages of WebSockets, each of which lacks its end',
    async (shown) => {
      const chunk = Buffer.alloc(1_000_000, 120);
      for (let i = 0; i < 20; i++) {
        const socket = await openSocket(shown);
        for (let n = 0; n < 7; n++) socket?.send(chunk, { fin: false });
      }
    },
  ],
  [
    'pings on 10 sockets that read no pongs',
    async (shown) => {
      const text = JSON.stringify({ type: 'ping', payload: { x: 'x'.repeat(16_000) } });
      for (let i = 0; i < 10; i++) {
        const socket = await openSocket(shown);
        socket?.pause();
        for (let n = 0; n < 2_000; n++) socket?.send(text);
      }
    },
  ],
  [
    '15 answers of 60 MB that nobody reads',
    async (shown) => {
      const query = `{ job(id: "${large}") { items(first: 60) { nodes { result } } } }`;
      const body = JSON.stringify({ query });
      for (let i = 0; i < 15; i++) {
        const socket = open();
        socket.pause();
        socket.write(head(body.length, shown) + body);
      }
    },
  ],
];

const turns = attacks.flatMap(([title, attack], turn) => {
  const senders: Sender[] = isLong ? [...roleNames] : [roleNames[1 + turn] as RoleName];
  return ['anybody' as const, ...senders].map((sender) => [title, sender, attack] as const);
});

/** Only Linux tells how much memory a process had. */
it.skipIf(process.platform !== 'linux').each(turns)('%s, from: %s', async (_, sender, attack) => {
  await attack(await startFor(sender));
  await expectServing();
});
