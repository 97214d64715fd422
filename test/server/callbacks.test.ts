/**
 * Callbacks as receivers know them: real HTTP servers that are slow, rude or hostile. Signatures are computed from the words of the
 * Standard Webhooks, and what time would bring is made due in the database.
 */
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallbackDelivery, type Client, createClient, verifyCallback } from '../../src/client/index.ts';
import type { LookUp } from '../../src/domain/callbacks/addresses.ts';
import type { App } from '../../src/server/create-app.ts';
import { createDatabase } from '../support/database.ts';
import { addEndpoint } from '../support/endpoints.ts';
import { newType } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { type Received, type Receiver, startReceiver } from '../support/receiver.ts';
import { startServer, startServerProcess } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const loopback = { JOBTREE_CALLBACK_NETWORKS: '127.0.0.0/8' };
const timeoutMs = 1_000;

/** What names lead to, each time that they are looked up; the last list stays. */
const names: Record<string, string[][]> = {};
const lookUps: string[] = [];
const lookUp: LookUp = async (hostname) => {
  lookUps.push(hostname);
  const lists = names[hostname] ?? [['127.0.0.1']];
  return (lists.length > 1 ? lists.shift() : lists[0]) ?? [];
};

const db = useDatabase();
let apps: App[];
let client: Client;
let receiver: Receiver;

beforeAll(async () => {
  const env = { ...loopback, JOBTREE_CALLBACK_TIMEOUT_MS: String(timeoutMs) };
  // Each delivery is sent by one of them.
  apps = [await startServer(db.url, env, { lookUp }), await startServer(db.url, env, { lookUp })];
  client = createClient({ url: apps[0]?.url });
  receiver = await startReceiver({
    '/500-once': (response, nth) => response.writeHead(nth === 1 ? 500 : 200).end('It\0 is\n  broken.'),
    '/hangs': () => {},
    '/drips': (response) => {
      response.writeHead(500);
      const timer = setInterval(() => response.write('x'), 100);
      response.on('close', () => clearInterval(timer));
    },
    '/drips-well': (response) => {
      response.writeHead(200).write('x');
      const timer = setInterval(() => response.write('x'), 100);
      response.on('close', () => clearInterval(timer));
    },
    '/redirects': (response) => response.writeHead(307, { location: '/elsewhere' }).end(),
    '/large': (response) => {
      response.writeHead(500, { 'content-length': String(1e9) });
      const chunk = Buffer.alloc(1_000_000, 'x');
      let written = 0;
      const write = () => {
        while (written < 1e9 && response.writable && response.write(chunk)) written += chunk.length;
      };
      response.on('drain', write);
      response.on('close', () => largeWritten.push(written));
      write();
    },
    '/gone': (response) => response.writeHead(410).end(),
    '/slow-down': (response) => response.writeHead(429, { 'retry-after': '3600' }).end(),
    '/slow-down-until': (response) =>
      response.writeHead(503, { 'retry-after': new Date(Date.now() + 7_200_000).toUTCString() }).end(),
  });
});
const largeWritten: number[] = [];
afterAll(async () => {
  await client?.close();
  for (const app of apps ?? []) await app.close();
  await receiver?.close();
});

async function endpoint(path: string, host = '127.0.0.1'): Promise<{ name: string; secret: string }> {
  const name = newType('endpoint');
  const { secret } = await client.callbacks.putEndpoint({
    name,
    url: `http://${host}:${receiver.port}${path}`,
  });
  if (secret === null) throw new Error('It exists.');
  return { name, secret };
}

/** A tree that is complete and calls these. */
async function completed(...endpoints: { name: string }[]): Promise<string> {
  const callbacks = endpoints.map(({ name }) => ({ endpoint: name }));
  return (await client.createJob({ type: newType(), sealed: true, callbacks })).id;
}
const deliveryOf = async ({ name }: { name: string }): Promise<CallbackDelivery> => {
  const { nodes } = await client.callbacks.deliveries({ filter: { endpoint: name } });
  if (nodes[0] === undefined) throw new Error('There is none yet.');
  return nodes[0];
};
/** Once something came of so many attempts. */
const tried = (endpoint: { name: string }, attempts = 1) =>
  eventually(async () => {
    const delivery = await deliveryOf(endpoint);
    expect(delivery.attempts.length).toBeGreaterThanOrEqual(attempts);
    return delivery;
  });
const due = ({ name }: { name: string }) =>
  db.query('update jobtree.callback_delivery set due_at = now() where endpoint = $1 and due_at is not null', [
    name,
  ]);

/** By the text of the specification, and nobody's library. */
function signature({ headers, text }: Received, secret: string): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`;
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
}

describe('a complete tree', () => {
  it('is reported once, signed, by one of two servers', async () => {
    const to = await endpoint('/well');
    const rootId = await completed(to);
    expect(await tried(to)).toMatchObject({ status: 'DELIVERED', event: 'TREE', rootId, attemptCount: 1 });
    const [message, ...others] = receiver.at('/well');
    if (message === undefined) throw new Error('Nothing came.');
    expect(others).toEqual([]);
    expect(message.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': `tree_${rootId.slice(4)}_1`,
      'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
      'webhook-signature': signature(message, to.secret),
    });
    expect(Math.abs(Date.now() / 1_000 - Number(message.headers['webhook-timestamp']))).toBeLessThan(30);
    expect(message.body).toEqual((await deliveryOf(to)).body);
    expect(verifyCallback(message.text, message.headers, to.secret)).toEqual(message.body);

    const forged = [
      [message.text.replace('SUCCEEDED', 'FAILED'), message.headers, to.secret],
      [message.text, { ...message.headers, 'webhook-id': 'tree_1' }, to.secret],
      [message.text, { ...message.headers, 'webhook-timestamp': '1700000000' }, to.secret],
      [message.text, { ...message.headers, 'webhook-signature': undefined }, to.secret],
      [message.text, message.headers, `whsec_${Buffer.alloc(32).toString('base64')}`],
    ] as const;
    for (const [text, headers, secret] of forged)
      expect(() => verifyCallback(text, headers, secret)).toThrow(
        expect.objectContaining({ code: 'INVALID_SIGNATURE' }),
      );
  });

  it('has two valid signatures after a rotation', async () => {
    const to = await endpoint('/rotated');
    const { secret } = await client.callbacks.rotateSecret(to.name);
    await completed(to);
    await tried(to);
    const [message] = receiver.at('/rotated');
    if (message === undefined) throw new Error('Nothing came.');
    const signatures = [signature(message, secret), signature(message, to.secret)];
    expect(message.headers['webhook-signature']?.toString().split(' ')).toEqual(signatures);
    for (const one of [secret, to.secret]) verifyCallback(message.text, message.headers, one);
  });

  it('is reported again with the same id and body after a failed attempt', async () => {
    const to = await endpoint('/500-once');
    await completed(to);
    const first = await tried(to);
    expect(first).toMatchObject({ status: 'PENDING', attempts: [{ statusCode: 500 }] });
    expect(first.attempts[0]?.error).toBe('The endpoint answered with status 500: It is broken.');
    await due(to);
    expect(await tried(to, 2)).toMatchObject({
      status: 'DELIVERED',
      attempts: [{}, { statusCode: 200, error: null }],
    });
    const [one, two] = receiver.at('/500-once');
    expect([one?.headers['webhook-id'], one?.text]).toEqual([two?.headers['webhook-id'], two?.text]);
    await client.callbacks.retryDelivery(first.id);
    expect(await tried(to, 3)).toMatchObject({ status: 'DELIVERED', attemptCount: 3 });
  });
});

describe('a receiver that', () => {
  it.each<[string, string, object, string]>([
    ['hangs', '/hangs', { statusCode: null }, `No answer within ${timeoutMs} ms.`],
    ['drips', '/drips', { statusCode: 500 }, 'The endpoint answered with status 500: x'],
    ['redirects', '/redirects', { statusCode: 307 }, 'not followed'],
    ['sends a gigabyte', '/large', { statusCode: 500 }, 'status 500: xxx'],
  ])('%s is called again, and nothing else happens', async (_, path, attempt, error) => {
    const to = await endpoint(path);
    await completed(to);
    const { status, attempts } = await tried(to);
    expect({ status, attempts }).toEqual({ status: 'PENDING', attempts: [expect.objectContaining(attempt)] });
    expect(attempts[0]?.error).toContain(error);
    expect(attempts[0]?.error?.length).toBeLessThan(300);
  });

  it('sends a gigabyte is cut off early, by size and by time', async () => {
    const [delivery] = (await client.callbacks.deliveries({ first: 1_000 })).nodes.filter(({ attempts }) =>
      attempts[0]?.error?.endsWith('x'.repeat(100)),
    );
    expect(delivery?.attempts[0]?.tookMs).toBeLessThan(timeoutMs);
    expect(
      await eventually(() => largeWritten.at(0) ?? Promise.reject(new Error('It still sends.'))),
    ).toBeLessThan(2e7);
    expect(receiver.at('/elsewhere')).toEqual([]);
  });

  it('accepts the message has received it, even if its answer drips', async () => {
    const to = await endpoint('/drips-well');
    await completed(to);
    expect((await tried(to)).status).toBe('DELIVERED');
  });

  it('is gone is not called again', async () => {
    const to = await endpoint('/gone');
    await completed(to);
    expect(await tried(to)).toMatchObject({ status: 'FAILED', attempts: [{ statusCode: 410 }] });
    expect((await client.callbacks.endpoints()).find(({ name }) => name === to.name)?.goneAt).toEqual(
      expect.any(String),
    );
    await completed(to);
    await eventually(async () => expect((await deliveryOf(to)).status).toBe('FAILED'));
    expect(receiver.at('/gone')).toHaveLength(1);
  });

  it.each([
    ['an hour', '/slow-down', 3_600_000],
    ['two hours, as a date', '/slow-down-until', 7_200_000],
  ])('asks for a pause of %s gets it', async (_, path, ms) => {
    const to = await endpoint(path);
    await completed(to);
    const { dueAt, attempts } = await tried(to);
    const wait = Date.parse(dueAt ?? '') - Date.parse(attempts[0]?.at ?? '');
    expect(Math.abs(wait - ms)).toBeLessThan(20_000);
  });

  it('hangs has a few connections, and delays no other', async () => {
    const hanging = await endpoint('/hangs', 'hanging.test');
    await Promise.all(Array.from({ length: 30 }, () => completed(hanging)));
    const underWay: number[] = [];
    const look = async () => {
      const [row] = await db.query<{ count: number }>(
        `select count(*)::int as count from jobtree.callback_delivery where endpoint = $1 and attempts > jsonb_array_length(history)`,
        [hanging.name],
      );
      underWay.push(row?.count ?? 0);
    };
    await eventually(async () => {
      await look();
      expect(underWay.at(-1)).toBeGreaterThan(0);
    });
    const quick = await endpoint('/quick', 'quick.test');
    await completed(quick);
    await eventually(async () => {
      await look();
      expect((await deliveryOf(quick)).status).toBe('DELIVERED');
    });
    // Four of each of the two servers.
    expect(Math.max(...underWay)).toBeLessThanOrEqual(8);
    const { nodes } = await client.callbacks.deliveries({ filter: { endpoint: hanging.name }, first: 1_000 });
    expect(nodes.some(({ attemptCount }) => attemptCount === 0)).toBe(true);
    await client.callbacks.deleteEndpoint(hanging.name);
  });
});

describe('an address', () => {
  it.each<[string, string[]]>([
    ['one of which is forbidden', ['127.0.0.1', '10.0.0.1']],
    ['all of which are forbidden', ['169.254.169.254']],
    ['an IPv6 form of which is forbidden', ['::ffff:10.0.0.1']],
    ['none', []],
  ])('of a name with addresses %s is not called', async (title, addresses) => {
    const host = `${newType('host')}.test`;
    names[host] = [['127.0.0.1'], addresses];
    const to = await endpoint('/forbidden', host);
    await completed(to);
    const { attempts } = await tried(to);
    expect(attempts[0]).toMatchObject({
      statusCode: null,
      error: expect.stringContaining(
        title === 'none' ? 'has no address' : `${host} leads to an address that is not public`,
      ),
    });
    // Who may name a URL could map the network behind the server otherwise.
    for (const address of addresses) expect(attempts[0]?.error).not.toContain(address);
    expect(receiver.at('/forbidden')).toEqual([]);
  });

  it('of a name is not told when nobody answers there', async () => {
    const host = `${newType('closed')}.test`;
    names[host] = [['127.0.0.1'], ['127.0.0.7', '127.0.0.8']];
    const to = await endpoint('/closed', host);
    await completed(to);
    expect((await tried(to)).attempts[0]?.error).toBe('connect ECONNREFUSED');
  });

  it('that a name has when it is looked up is the one called, even if the name changes', async () => {
    const host = `${newType('rebinding')}.test`;
    // When it is put, when it is called, and from then on.
    names[host] = [['127.0.0.1'], ['127.0.0.1'], ['10.0.0.1']];
    const to = await endpoint('/pinned', host);
    await completed(to);
    expect((await tried(to)).status).toBe('DELIVERED');
    expect(receiver.at('/pinned')[0]?.headers.host).toBe(`${host}:${receiver.port}`);
    expect(lookUps.filter((name) => name === host)).toHaveLength(2);
  });

  it('in a private network is refused by a server without that setting, by address and by name', async () => {
    const strict = await createDatabase();
    const app = await startServer(strict.url);
    const other = createClient({ url: app.url });
    try {
      for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]']) {
        const url = `http://${host}:${receiver.port}/strict`;
        await expect(other.callbacks.putEndpoint({ name: 'own', url })).rejects.toMatchObject({
          code: 'INVALID_INPUT',
          field: 'url',
        });
      }
      // As if it had become forbidden later.
      await addEndpoint(strict, 'own', `http://localhost:${receiver.port}/strict`);
      await other.createJob({ type: 'x', sealed: true, callbacks: [{ endpoint: 'own' }] });
      await eventually(async () => {
        const [delivery] = (await other.callbacks.deliveries()).nodes;
        expect(delivery?.attempts[0]?.error).toContain('leads to an address that is not public');
      });
      expect(receiver.at('/strict')).toEqual([]);
    } finally {
      await other.close();
      await app.close();
      await strict.drop();
    }
  });
});

it('a server that stops during an attempt aborts it, which is no failure', async () => {
  const own = await createDatabase();
  const hanging = await startReceiver({ '/': () => {} });
  const stopping = await startServer(own.url, loopback);
  const first = createClient({ url: stopping.url });
  await first.callbacks.putEndpoint({ name: 'here', url: `http://127.0.0.1:${hanging.port}/` });
  await first.createJob({ type: 'x', sealed: true, callbacks: [{ endpoint: 'here' }] });
  await eventually(() => expect(hanging.received).toHaveLength(1));
  await first.close();
  await stopping.close();
  expect(
    await own.query(
      'select attempts, history, failed_at from jobtree.callback_delivery where due_at > now()',
    ),
  ).toEqual([{ attempts: 1, history: [], failed_at: null }]);
  await hanging.close();
  await own.drop();
});

it('a server killed between lease and answer has the delivery repeated by another one, with the same id', async () => {
  const own = await createDatabase();
  const hanging = await startReceiver({
    '/': (response, nth) => (nth === 1 ? undefined : response.writeHead(200).end()),
  });
  const killed = await startServerProcess(own.url, loopback);
  const first = createClient({ url: killed.url });
  await first.callbacks.putEndpoint({ name: 'here', url: `http://127.0.0.1:${hanging.port}/` });
  await first.createJob({ type: 'x', sealed: true, callbacks: [{ endpoint: 'here' }] });
  await eventually(() => expect(hanging.received).toHaveLength(1));
  await killed.end('SIGKILL');
  await first.close();
  await own.query('update jobtree.callback_delivery set due_at = now()');
  const app = await startServer(own.url, loopback);
  const client = createClient({ url: app.url });
  await eventually(async () => {
    const [delivery] = (await client.callbacks.deliveries()).nodes;
    expect(delivery).toMatchObject({ status: 'DELIVERED', attemptCount: 2 });
  });
  const [one, two] = hanging.received;
  expect(two?.headers['webhook-id']).toBe(one?.headers['webhook-id']);
  expect(two?.text).toBe(one?.text);
  await client.close();
  await app.close();
  await hanging.close();
  await own.drop();
});
