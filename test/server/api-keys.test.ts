/** API keys: what they open, until when, and what ends with them. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { createClient } from 'graphql-ws';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { Hub } from '../../src/events/hub.ts';
import type { App } from '../../src/server/create-app.ts';
import { Admission } from '../../src/server/rights/admission.ts';
import { KnownKeys } from '../../src/server/rights/known-keys.ts';
import { ask as askAt } from '../support/api.ts';
import { createDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

const { db, app } = useServer({ JOBTREE_AUTH: 'keys' });
let other: App;
let admin: string;
beforeAll(async () => {
  other = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
  admin = (await makeKey(db, ['admin'])).key;
});
afterAll(() => other.close());

const ask = (key: string, query: string, variables = {}, url = app.url) => askAt(url, key, query, variables);

const typename = '{ __typename }';

/** A socket with a subscription that does not end by itself. */
async function openSocket(url: string, key: string) {
  const client = createClient({
    url: url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    connectionParams: bearer(key),
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    client.on('closed', (event) => resolve(event as { code: number; reason: string })),
  );
  const events = client.iterate({ query: 'subscription { queues { type } }' });
  await events.next();
  const ended = events.next().then(
    () => 'ended',
    () => 'ended',
  );
  return { closed, ended, close: () => client.dispose() };
}

async function openStream(url: string, key: string) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...bearer(key) },
    body: JSON.stringify({ query: 'subscription { queues { type } }' }),
  });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  const rest = (async () => {
    let text = '';
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return text;
        text += Buffer.from(value).toString();
      }
    } catch {
      return text;
    }
  })();
  return { rest, close: () => reader.cancel() };
}

const createKey = `mutation ($input: CreateApiKeyInput!) {
  createApiKey(input: $input) { ... on CreateApiKeyPayload { key apiKey { id name roles types createdBy expiresAt } } ... on UserError { code field message } }
}`;

describe('an API key', () => {
  it('is created by an admin, shown once, and stored as a hash', async () => {
    const input = { name: 'ci', roles: ['PRODUCER'], types: ['mail.*'] };
    const { data } = await ask(admin, createKey, { input });
    const { key, apiKey } = data.createApiKey;
    expect(key).toMatch(/^jobtree_[0-9A-Za-z]{49}$/);
    expect(apiKey).toMatchObject({
      ...input,
      createdBy: expect.stringMatching(/^key admin/),
      expiresAt: null,
    });
    const stored = await db.query<{ hash: Buffer; row: string }>(
      'select hash, k::text as row from jobtree.api_key k where name = $1',
      ['ci'],
    );
    expect(stored[0]?.hash).toEqual(createHash('sha256').update(key).digest());
    expect(stored[0]?.row).not.toContain(key.slice(8, 40));
    expect(await ask(key, typename)).toMatchObject({ status: 200 });
    const { data: listed } = await ask(admin, '{ apiKeys { name roles lastUsedAt } }');
    expect(listed.apiKeys.map(({ name }: { name: string }) => name)).toContain('ci');
    expect(JSON.stringify(listed)).not.toContain(key);
  });

  it.each([
    ['no role', { name: 'x', roles: [] }, 'roles'],
    ['an admin with a scope', { name: 'x', roles: ['ADMIN'], types: ['a'] }, 'roles'],
    ['a star in the middle', { name: 'x', roles: ['WORKER'], types: ['a*b'] }, 'types[0]'],
    ['no name', { name: '', roles: ['WORKER'] }, 'name'],
    ['an end that is over', { name: 'x', roles: ['WORKER'], expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt'],
    ['101 types', { name: 'x', roles: ['WORKER'], types: Array.from({ length: 101 }, String) }, 'types'],
  ])('is refused with %s', async (_, input, field) => {
    const { data } = await ask(admin, createKey, { input });
    expect(data.createApiKey).toMatchObject({ code: 'INVALID_INPUT', field });
  });

  it('that does not exist is refused, whatever its checksum', async () => {
    const stranger = await createDatabase();
    const { key } = await makeKey(stranger, ['admin']);
    await stranger.drop();
    const wrong = `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`;
    for (const text of [key, wrong, `${key}A`, 'jobtree_', 'x', `jobtree_${'A'.repeat(5_000)}`]) {
      const answer = await ask(text, typename);
      expect(answer).toMatchObject({ status: 401, errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] });
    }
  });

  it('that is unknown is looked up a limited number of times per address, and others are served meanwhile', async () => {
    const stranger = await createDatabase();
    const refused = new Set<number>();
    const show = async () =>
      refused.add((await ask((await makeKey(stranger, ['worker'])).key, typename)).status);
    // Those that arrive at once are looked up at once; what comes after them is not.
    const refusals = async () => {
      await Promise.all(Array.from({ length: 20 }, show));
      return refused;
    };
    await expect.poll(refusals).toEqual(new Set([401, 503]));
    await stranger.drop();
    const fresh = await makeKey(db, ['watcher']);
    await expect.poll(async () => (await ask(fresh.key, typename)).status).toBe(200);
    expect(await ask(admin, typename)).toMatchObject({ status: 200 });
  });

  it('that expires is refused from then on, and its socket and stream end', async () => {
    const { key } = await makeKey(db, ['watcher'], { expiresAt: new Date(Date.now() + 1_500) });
    const socket = await openSocket(app.url, key);
    const stream = await openStream(app.url, key);
    expect(await socket.closed).toMatchObject({ code: 4403, reason: expect.stringContaining('expired') });
    expect(await stream.rest).toContain('UNAUTHENTICATED');
    expect(await ask(key, typename)).toMatchObject({ status: 401 });
  });

  it('is valid beside its successor for a while after a rotation', async () => {
    const { key, id } = await makeKey(db, ['watcher']);
    const rotate = `mutation ($id: ID!, $keep: Count) { rotateApiKey(input: { id: $id, keepPreviousMs: $keep }) { ... on RotateApiKeyPayload { key apiKey { previousUntil } } ... on UserError { code } } }`;
    const variables = { id: `ApiKey:${id}`, keep: 3_000 };
    const socket = await openSocket(other.url, key);
    const { data } = await ask(admin, rotate, variables);
    const next = data.rotateApiKey.key;
    expect(data.rotateApiKey.apiKey.previousUntil).not.toBeNull();
    expect(next).not.toBe(key);
    expect(await ask(next, typename)).toMatchObject({ status: 200 });
    expect(await ask(key, typename)).toMatchObject({ status: 200 });
    expect(await socket.closed).toMatchObject({ code: 4403 });
    // The other server ends it by a clock of its own.
    await eventually(async () => expect(await ask(key, typename)).toMatchObject({ status: 401 }));
    expect(await ask(next, typename)).toMatchObject({ status: 200 });
  });

  it('that is revoked while the body of a request arrives has the request refused', async () => {
    const { key, id } = await makeKey(db, ['admin']);
    await ask(key, typename);
    const sent = { method: 'POST', headers: { 'content-type': 'application/json', ...bearer(key) } };
    const late = request(app.url, sent);
    const answered = once(late, 'response');
    late.write('{"query":');
    const revoke = 'mutation ($id: ID!) { revokeApiKey(input: { id: $id }) { __typename } }';
    await ask(admin, revoke, { id: `ApiKey:${id}` });
    await eventually(async () => expect(await ask(key, typename)).toMatchObject({ status: 401 }));
    late.end(`${JSON.stringify('mutation { createJob(input: { type: "late" }) { __typename } }')}}`);
    const [response] = await answered;
    expect(await text(response)).toContain('FORBIDDEN');
    expect(await db.query(`select from jobtree.job where type = 'late'`)).toEqual([]);
  });

  it('that is revoked ends its sockets and streams on all servers within five seconds, and no others', async () => {
    const { key, id } = await makeKey(db, ['watcher']);
    const bystander = await makeKey(db, ['watcher']);
    const sockets = await Promise.all([openSocket(app.url, key), openSocket(other.url, key)]);
    const stream = await openStream(other.url, key);
    const quiet = await openSocket(other.url, bystander.key);
    const revoke = `mutation ($id: ID!) { revokeApiKey(input: { id: $id }) { ... on RevokeApiKeyPayload { apiKey { revokedAt } } ... on UserError { code } } }`;
    const startedAt = performance.now();
    const { data } = await ask(admin, revoke, { id: `ApiKey:${id}` });
    expect(data.revokeApiKey.apiKey.revokedAt).not.toBeNull();
    for (const { closed, ended } of sockets) {
      expect(await closed).toMatchObject({ code: 4403, reason: expect.stringContaining('revoked') });
      expect(await ended).toBe('ended');
    }
    expect(await stream.rest).toContain('UNAUTHENTICATED');
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    for (const { url } of [app, other])
      expect(await ask(key, typename, {}, url)).toMatchObject({ status: 401 });
    expect(await Promise.race([quiet.ended, ask(bystander.key, typename, {}, other.url)])).toMatchObject({
      status: 200,
    });
    await quiet.close();
    expect(
      (await ask(admin, revoke, { id: `ApiKey:${id}` })).data.revokeApiKey.apiKey.revokedAt,
    ).not.toBeNull();
  });

  it('is recorded as used, once a minute', async () => {
    const { key, id } = await makeKey(db, ['watcher']);
    const used = async () =>
      (
        await db.query<{ at: Date | null }>('select last_used_at as at from jobtree.api_key where id = $1', [
          id,
        ])
      )[0]?.at ?? null;
    expect(await used()).toBeNull();
    await ask(key, typename);
    await expect.poll(used).not.toBeNull();
    const first = await used();
    await ask(key, typename, {}, other.url);
    await ask(key, typename);
    // The next look is over once another key is noted.
    const later = await makeKey(db, ['watcher']);
    await ask(later.key, typename, {}, other.url);
    await expect
      .poll(
        async () =>
          (
            await db.query('select 1 from jobtree.api_key where id = $1 and last_used_at is not null', [
              later.id,
            ])
          ).length,
      )
      .toBe(1);
    expect(await used()).toEqual(first);
  });
});

it('a key in constant use is looked up once, and then together with all others', async () => {
  const database = db.open();
  const looks: number[] = [];
  const keys = new KnownKeys({
    database: {
      callForLeases: (name, ...values) => {
        looks.push((values[0] as unknown[]).length);
        return database.callForLeases(name, ...values);
      },
    },
    logger: pino({ level: 'silent' }),
  });
  const made = await Promise.all([makeKey(db, ['watcher']), makeKey(db, ['worker'])]);
  for (const { key } of made) await keys.find(key, '127.0.0.1');
  expect(looks).toEqual([1, 1]);
  for (let i = 0; i < 1_000; i++)
    for (const { key } of made) expect(keys.find(key, '127.0.0.1')).toBeInstanceOf(Admission);
  expect(looks).toEqual([1, 1]);
  keys.start();
  await expect.poll(() => looks.length).toBeGreaterThan(3);
  expect(new Set(looks.slice(2))).toEqual(new Set([2]));
  await keys.stop();
  await database.close();
});

it('a session ends with its key while Postgres is away, and earlier if the expiry moves', async () => {
  const database = db.open(2);
  let isAway = false;
  const keys = new KnownKeys({
    database: {
      callForLeases: (name, ...values) =>
        isAway ? Promise.reject(new Error('away')) : database.callForLeases(name, ...values),
    },
    logger: pino({ level: 'silent' }),
  });
  const { key } = await makeKey(db, ['watcher'], { expiresAt: new Date(Date.now() + 1_500) });
  const right = await keys.find(key, '127.0.0.1');
  isAway = true;
  keys.start();
  expect(await new Promise((resolve) => right.enter(resolve))).toBe('The API key has expired.');
  expect(right.isOver).toBe(true);
  await keys.stop();
  await database.close();

  const moved = new Admission({
    caller: right.caller,
    until: performance.now() + 3_600_000,
    whenOver: 'over',
  });
  const ended = new Promise((resolve) => moved.enter(resolve));
  moved.until = performance.now() + 10;
  expect(await ended).toBe('over');
});

it('a watched page has its turns as one of the tenant and the key that watch it', async () => {
  const turns = vi.spyOn(Hub.prototype, 'watchPage');
  const owners = [];
  for (const tenant of ['north', 'south']) {
    const { key } = await makeKey(db, ['watcher'], { tenant });
    const response = await fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...bearer(key) },
      body: JSON.stringify({ query: 'subscription { jobs { goneIds } }' }),
    });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    const { tenant: of, account } = turns.mock.lastCall?.[2] ?? {};
    owners.push({ tenant: of, account });
    await reader.cancel();
  }
  expect(owners).toMatchObject([{ tenant: 'north' }, { tenant: 'south' }]);
  expect(new Set(owners.map(({ account }) => account)).size).toBe(2);
});
