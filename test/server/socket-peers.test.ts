/**
 * Peers that answer pings as RFC 6455 lets them, or not at all, and peers that do not read. The intervals are scaled down to a
 * twentieth; SOCKET_PEERS=long runs them as they are.
 */

import pino from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { type App, createApp } from '../../src/server/create-app.ts';
import { createJob, data } from '../support/api.ts';
import { openRaw, type RawSocket } from '../support/raw-socket.ts';
import { useDatabase } from '../support/use-server.ts';

const scale = process.env.SOCKET_PEERS === 'long' ? 1 : 20;
const keepAliveMs = 10_000 / scale;
const testTimeoutMs = 200_000;

const db = useDatabase();
let app: App;
const closers: (() => unknown)[] = [];
beforeAll(async () => {
  app = await createApp({
    config: readConfig({ JOBTREE_PORT: '0' }),
    databaseUrl: db.url,
    logger: pino({ level: 'silent' }),
    times: { keepAliveMs, pongWithinMs: 30_000 / scale },
  });
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(async () => {
  await app.close();
});

async function open(onPing: Parameters<typeof openRaw>[1] = {}): Promise<RawSocket> {
  const raw = await openRaw(app.url, onPing);
  closers.push(() => raw.socket.terminate());
  return raw;
}

/** A tree whose state takes more than the server sends ahead of what was read. */
const largeTree = () =>
  createJob(app.url, {
    type: 'root',
    children: Array.from({ length: 400 }, (_, i) => ({ type: `child-${i}` })),
  });
const watchTree = (id: string) => ({
  type: 'subscribe',
  id: '1',
  payload: {
    query:
      'subscription ($id: ID!) { jobTreeProgress(rootId: $id) { jobs { jobId revision status percent message itemCount sealed } } }',
    variables: { id },
  },
});
async function sealAll(id: string): Promise<void> {
  const { job } = await data(app.url, 'query ($id: ID!) { job(id: $id) { tree { id } } }', { id });
  for (const one of job.tree)
    await data(app.url, 'mutation ($id: ID!) { sealJob(input: { jobId: $id }) { __typename } }', one);
}

const isFirst = ({ type }: any) => type === 'next';
const isEnd = ({ id, type }: any) => id === '1' && type === 'complete';

describe('a peer gets its events', () => {
  it(
    'that answers only the newest ping',
    async () => {
      // None is answered before the next one has come, so each is the newest of several.
      let waiting = 0;
      const raw = await open({
        onPing: (data, answer) => {
          waiting++;
          if (waiting % 2 === 0) answer(data);
        },
      });
      const id = await largeTree();
      raw.send(watchTree(id));
      await raw.until(isFirst);
      await sealAll(id);
      await raw.until(isEnd);
    },
    testTimeoutMs,
  );

  it(
    'that answers each ping after 20 s',
    async () => {
      const raw = await open({
        onPing: (data, answer) => setTimeout(answer, 20_000 / scale, data),
      });
      const id = await largeTree();
      raw.send(watchTree(id));
      await raw.until(isFirst);
      await sealAll(id);
      await raw.until(isEnd);
    },
    testTimeoutMs,
  );
});

describe('a peer is closed', () => {
  it(
    'that answers no ping, though it sends messages',
    async () => {
      const raw = await open({ onPing: () => {} });
      const chat = setInterval(() => raw.send({ type: 'ping' }), keepAliveMs / 2);
      closers.push(() => clearInterval(chat));
      raw.send(watchTree(await largeTree()));
      await raw.until(isFirst);
      expect(await raw.closed).toBe(1006);
    },
    testTimeoutMs,
  );
});

it('a peer that sends many pings and reads no answers is not read further', async () => {
  const raw = await open();
  const text = JSON.stringify({ type: 'ping', payload: { x: 'x'.repeat(16_000) } });
  const sent = 6_000;
  raw.socket.pause();
  for (let i = 0; i < sent; i++) raw.socket.send(text);
  // Until nothing moves any more.
  let before = -1;
  while (raw.socket.bufferedAmount !== before) {
    before = raw.socket.bufferedAmount;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  // The systems of both ends take some of it.
  expect(raw.socket.bufferedAmount).toBeGreaterThan((sent / 2) * text.length);
  // Others are served meanwhile, and so is this one when it reads again.
  expect(await data(app.url, '{ __typename }')).toBeDefined();
  raw.socket.resume();
  await raw.until(({ type }) => type === 'pong');
});
