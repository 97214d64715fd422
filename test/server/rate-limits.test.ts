/** How much a caller may send, alike over HTTP, event streams and WebSockets, and how it is told. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { createClient, Worker } from '../../src/client/index.ts';
import type { App } from '../../src/server/create-app.ts';
import { Allowance } from '../../src/server/limits/rate-limits.ts';
import { collectSse } from '../support/api.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { openRaw } from '../support/raw-socket.ts';
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

interface Told {
  readonly status: number;
  readonly headers: Headers;
  readonly body: { data?: any; errors?: { message: string; extensions: Record<string, unknown> }[] };
}

async function ask(app: App, key: string, query = '{ __typename }', headers = {}): Promise<Told> {
  const response = await fetch(app.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...bearer(key), ...headers },
    body: JSON.stringify({ query }),
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Told['body'],
  };
}

async function socketOf(app: App, key: string) {
  const socket = await openRaw(app.url, { hello: false });
  ends.push(() => socket.socket.terminate());
  socket.send({ type: 'connection_init', payload: bearer(key) });
  await socket.until(({ type }) => type === 'connection_ack');
  let ids = 0;
  return {
    ...socket,
    /** Sends an operation as many times at once. */
    ask: async (query: string, count = 1) => {
      const sent = Array.from({ length: count }, () => `q${ids++}`);
      for (const id of sent) socket.send({ type: 'subscribe', id, payload: { query } });
      const answers = [];
      for (const id of sent) answers.push(await socket.until((message) => message.id === id));
      return answers;
    },
  };
}

const slow = { requestsPerSecond: 3 };

/** At once, since what was used up comes back with time. */
const together = <T>(count: number, send: () => Promise<T>) =>
  Promise.all(Array.from({ length: count }, send));

describe('operations beyond the requests per second of a key', () => {
  it('are refused over HTTP with 429, and every answer says what is left', async () => {
    const app = await start();
    const { key } = await makeKey(db, ['admin'], { limits: slow });
    const answers = await together(8, () => ask(app, key));
    const first = answers.find(({ headers }) => headers.get('ratelimit') === '"requests";r=2;t=1');
    expect(first?.status).toBe(200);
    expect(first?.headers.get('ratelimit-policy')).toBe('"requests";q=3;w=1');
    const last = answers.find(({ status }) => status === 429);
    expect(last?.headers.get('retry-after')).toBe('1');
    expect(last?.headers.get('ratelimit')).toMatch(/^"requests";r=0;t=1$/);
    expect(last?.body.errors?.[0]).toMatchObject({
      message: expect.stringContaining('Nothing was done: try again in 1 s.'),
      extensions: { code: 'RATE_LIMITED', limit: 'requests', retryAfter: 1 },
    });
    await expect.poll(async () => (await ask(app, key)).status, { interval: 300 }).toBe(200);
  });

  it("are refused by Yoga's plugins too, and on event streams", async () => {
    const app = await start();
    const { key } = await makeKey(db, ['admin'], { limits: { requestsPerSecond: 1 } });
    const yoga = { 'content-type': 'application/json; charset=UTF-8' };
    const answers = await together(4, () => ask(app, key, '{ __typename }', yoga));
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.headers.get('retry-after')).toBe('1');
    expect(refused?.headers.get('ratelimit-policy')).toBe('"requests";q=1;w=1');
    const streams = await together(4, () => collectSse(app.url, 'subscription { nothing }', {}, bearer(key)));
    const codes = streams.map(([event]) => event.errors[0].extensions.code);
    expect(codes).toContain('RATE_LIMITED');
  });

  it('are answered with an error on a socket, which stays open', async () => {
    const app = await start();
    const { key } = await makeKey(db, ['admin'], { limits: slow });
    const socket = await socketOf(app, key);
    const answers = await socket.ask('{ __typename }', 8);
    expect(answers[0].payload).toEqual({ data: { __typename: 'Query' } });
    const refused = answers.find(({ payload }) => payload.errors !== undefined);
    expect(refused.payload.errors[0].extensions).toMatchObject({ code: 'RATE_LIMITED', retryAfter: 1 });
    await expect
      .poll(async () => (await socket.ask('{ __typename }'))[0].payload.data, { interval: 300 })
      .toEqual({ __typename: 'Query' });
  });

  it('count together over HTTP and sockets, and separately from those of other keys', async () => {
    const app = await start({ JOBTREE_CALLER_REQUESTS_PER_SECOND: '4' });
    const [one, other] = [await makeKey(db, ['admin']), await makeKey(db, ['admin'])];
    const socket = await socketOf(app, one.key);
    const [answers] = await Promise.all([
      together(4, () => ask(app, one.key)),
      socket.ask('{ __typename }', 8),
    ]);
    expect(answers.map(({ status }) => status)).toContain(429);
    expect((await ask(app, other.key)).status).toBe(200);
  });
});

it('operations beyond the cost per second of a key are refused; a single one may exceed it and is paid off afterwards', async () => {
  const app = await start();
  const { key } = await makeKey(db, ['admin'], { limits: { costPerSecond: 1_000 } });
  const pages = '{ jobs(first: 1000) { nodes { id type } } }';
  const answers = await together(2, () => ask(app, key, pages));
  const [first, second] = answers.sort((a, b) => a.status - b.status);
  expect(first?.status).toBe(200);
  expect(first?.headers.get('ratelimit-policy')).toBe('"cost";q=1000;w=1');
  expect(second?.status).toBe(429);
  expect(Number(second?.headers.get('retry-after'))).toBeGreaterThanOrEqual(2);
  expect(second?.body.errors?.[0]?.extensions).toMatchObject({ code: 'RATE_LIMITED', limit: 'cost' });
});

describe("an operation that can't be executed counts as one, and is refused beyond the limit:", () => {
  const post = (path: string, headers: object, body?: string) => (app: App, key: string) =>
    fetch(new URL(path, app.url), {
      method: body === undefined ? 'GET' : 'POST',
      headers: { accept: 'application/json', ...headers, ...bearer(key) },
      body: body ?? null,
    });
  const json = { 'content-type': 'application/json' };
  const operation = (query: string, headers: object = json) =>
    post('/graphql', headers, JSON.stringify({ query }));
  const yoga = { 'content-type': 'application/json; charset=UTF-8' };
  const form = () => {
    const body = new FormData();
    body.set('operations', '{');
    return body as unknown as string;
  };

  it.each([
    ['a text that does not parse', operation('{'), 200],
    ['the same by the plugins of Yoga', operation('{', yoga), 200],
    ['the same as an event stream', operation('{', { ...json, accept: 'text/event-stream' }), 200],
    ['a field that there is not', operation('{ nothing }'), 200],
    ['the same by the plugins of Yoga', operation('{ nothing }', yoga), 200],
    ['too many aliases', operation(`{ ${Array.from({ length: 200 }, (_, i) => `a${i}: __typename`)} }`), 200],
    ['a body that is no JSON', post('/graphql', json, '{'), 400],
    ['the same by the plugins of Yoga', post('/graphql', yoga, '{'), 400],
    ['a form that is no JSON', post('/graphql', { 'apollo-require-preflight': 'true' }, form()), 400],
    ['an upload', post('/api/uploads', { 'content-type': 'application/octet-stream' }, 'x'), 201],
    ['an upload that there is not', post('/api/uploads/Upload:x', {}), 400],
    ['an export', post('/api/jobs/Job:00000000-0000-7000-8000-000000000000/results', {}), 404],
    ['metrics', post('/metrics', {}), 200],
    ['a path that there is not', post('/nothing', {}), 404],
  ])('%s', async (_, send, status) => {
    const app = await start();
    const { key } = await makeKey(db, ['admin'], { limits: { requestsPerSecond: 1 } });
    // At once, since one more is let in after a second.
    const answers = await Promise.all(
      [1, 2, 3, 4].map(async () => {
        const response = await send(app, key);
        return { response, text: await response.text() };
      }),
    );
    const isRefused = ({ response }: { response: Response }) => response.status === 429;
    for (const { response } of answers)
      expect(response.headers.get('ratelimit-policy')).toBe('"requests";q=1;w=1');
    const others = answers.filter((answer) => !isRefused(answer)).map(({ response }) => response.status);
    expect(new Set(others)).toEqual(new Set([status]));
    const [refused] = answers.filter(isRefused);
    expect(refused?.response.headers.get('retry-after')).toBe('1');
    expect(refused?.response.headers.get('ratelimit')).toBe('"requests";r=0;t=1');
    expect(refused?.text).toContain('RATE_LIMITED');
  });

  it('heartbeats continue when invalid operations have used up the limit', async () => {
    const app = await start();
    const { key } = await makeKey(db, ['admin'], { limits: { requestsPerSecond: 1 } });
    await Promise.all([1, 2, 3].map(() => operation('{')(app, key)));
    const heartbeat = 'mutation { heartbeat(input: { assignmentIds: [] }) { __typename } }';
    expect((await ask(app, key, heartbeat)).status).toBe(200);
  });

  it('on a socket, too', async () => {
    const app = await start();
    for (const query of ['{', '{ nothing }']) {
      const { key } = await makeKey(db, ['admin'], { limits: { requestsPerSecond: 1 } });
      const socket = await socketOf(app, key);
      const ids = [query, query, '{ __typename }'].map((one, i) => {
        socket.send({ type: 'subscribe', id: `${i}`, payload: { query: one } });
        return `${i}`;
      });
      const answers = [];
      for (const id of ids) answers.push(await socket.until((message) => message.id === id));
      const texts = answers.map((answer) => JSON.stringify(answer));
      expect(texts[0]).not.toContain('RATE_LIMITED');
      expect(texts[1]).toContain('RATE_LIMITED');
      expect(texts[2]).toContain('RATE_LIMITED');
    }
  });

  it('for the tenant of the caller, too', async () => {
    const app = await start({ JOBTREE_TENANT_REQUESTS_PER_SECOND: '1' });
    const [one, other] = [
      await makeKey(db, ['admin'], { tenant: 'a' }),
      await makeKey(db, ['admin'], { tenant: 'a' }),
    ];
    const answers = await Promise.all([
      operation('{')(app, one.key),
      post('/api/uploads/Upload:x', {})(app, other.key),
    ]);
    expect(await Promise.all(answers.map((answer) => answer.text()))).toContainEqual(
      expect.stringMatching(/"RATE_LIMITED","limit":"tenant-requests"/),
    );
  });

  it('and a large text of a caller over its limit is not even parsed', async () => {
    const app = await start();
    const { key } = await makeKey(db, ['admin'], { limits: { requestsPerSecond: 1 } });
    const heartbeat = 'mutation { heartbeat(input: { assignmentIds: [] }) { __typename } }';
    const askBoth = async () => {
      await ask(app, key);
      return (await ask(app, key, heartbeat + ' '.repeat(10_000))).status;
    };
    await expect.poll(askBoth).toBe(429);
  });

  it('bytes of uploads and exports are paid off afterwards, as cost', async () => {
    const app = await start();
    const { key } = await makeKey(db, ['admin'], { limits: { costPerSecond: 100 } });
    const upload = await post(
      '/api/uploads',
      { 'content-type': 'application/octet-stream' },
      'x'.repeat(1_200_000),
    )(app, key);
    expect(upload.status).toBe(201);
    await upload.text();
    await expect.poll(async () => (await ask(app, key)).status, { interval: 50 }).toBe(429);
    const refused = await ask(app, key);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(3);
    expect(refused.body.errors?.[0]?.extensions).toMatchObject({ limit: 'cost' });
  });
});

it('without a limit there is no header', async () => {
  const app = await start();
  const { key } = await makeKey(db, ['admin']);
  const { headers } = await ask(app, key);
  expect(headers.get('ratelimit-policy')).toBeNull();
  expect(headers.get('ratelimit')).toBeNull();
});

it('a key has its own limits of connections and subscriptions', async () => {
  const app = await start();
  const { key } = await makeKey(db, ['admin'], { limits: { connections: 1, subscriptions: 2 } });
  const socket = await socketOf(app, key);
  const second = await openRaw(app.url, { hello: false });
  second.send({ type: 'connection_init', payload: bearer(key) });
  expect(await second.closed).toBe(1013);
  const subscribe = (id: string) =>
    socket.send({ type: 'subscribe', id, payload: { query: 'subscription { queues { type } }' } });
  for (const id of ['a', 'b', 'c']) subscribe(id);
  const refused = await socket.until(({ id }) => id === 'c');
  expect(JSON.stringify(refused)).toContain('TOO_MANY_OPERATIONS');
  await socket.until(({ id }) => id === 'a');
  socket.send({ type: 'complete', id: 'a' });
  await expect
    .poll(async () => {
      const id = `again ${performance.now()}`;
      subscribe(id);
      return JSON.stringify(await socket.until((message) => message.id === id)).includes('TOO_MANY');
    })
    .toBe(false);
});

it('invalid limits are refused when a key is created', async () => {
  const { createApiKey } = await import('../../src/domain/access/api-keys.ts');
  const call = () => Promise.reject(new Error('not asked'));
  const key = { name: 'x', roles: ['worker' as const], limits: { requestsPerSecond: 0 } };
  await expect(createApiKey({ call } as never, key, 'a test')).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    field: 'limits.requestsPerSecond',
  });
});

describe('the clients', () => {
  it('wait as long as they are asked to, and continue', async () => {
    const app = await start();
    const { key } = await makeKey(db, ['admin'], { limits: { requestsPerSecond: 2 } });
    const retries: string[] = [];
    const client = createClient({
      url: app.url,
      token: key,
      onRetry: ({ message }) => retries.push(message),
    });
    ends.push(() => client.close());
    for (let i = 0; i < 4; i++) await client.createJob({ type: 'limited' });
    expect(retries.length).toBeGreaterThan(0);
    expect(retries[0]).toContain('more operations a second than it may');
  });

  it('lose nothing: a worker at its limit reports everything, at the first attempt', async () => {
    const app = await start();
    const admin = await makeKey(db, ['admin']);
    const { key } = await makeKey(db, ['worker'], { limits: { requestsPerSecond: 4 } });
    const client = createClient({ url: app.url, token: admin.key });
    ends.push(() => client.close());
    const items = Array.from({ length: 60 }, (_, i) => ({ payload: i }));
    const { id } = await client.createJob({ type: 'paced', items, heartbeatIntervalMs: 1_000 });
    const limited = createClient({ url: app.url, token: key });
    ends.push(() => limited.close());
    const handler = async (payload: unknown) => {
      await delay(20);
      return payload;
    };
    const worker = new Worker({
      client: limited,
      types: { paced: { concurrency: 5, claimAhead: false, handler } },
    });
    ends.push(() => worker.stop());
    // Whatever else it sends has used up its limit.
    let isOver = false;
    const others = (async () => {
      while (!isOver) {
        await ask(app, key);
        await delay(20);
      }
    })();
    await worker.start();
    await expect
      .poll(async () => (await client.job(id))?.progress.succeeded, { timeout: 60_000, interval: 500 })
      .toBe(60);
    isOver = true;
    await others;
    const [lost] = await db.query<{ attempts: number }>(
      'select max(attempt)::int as attempts from jobtree.lease where job_id = $1',
      [id.replace('Job:', '')],
    );
    expect(lost?.attempts).toBe(1);
  });
});

describe('an allowance', () => {
  it('reserves parts for reports and for heartbeats', () => {
    const allowance = new Allowance(10);
    for (let i = 0; i < 10; i++) allowance.take(1, 0);
    expect(allowance.waitMs(1, 0)).toBeGreaterThan(50);
    expect(allowance.waitMs(1, 1)).toBe(0);
    for (let i = 0; i < 10; i++) allowance.take(1, 1);
    expect(allowance.waitMs(1, 1)).toBeGreaterThan(50);
    expect(allowance.waitMs(1, 2)).toBe(0);
    // All of it counts for what is not urgent.
    expect(allowance.waitMs(1, 0)).toBeGreaterThan(900);
    expect(allowance.left).toBe(0);
  });
});
