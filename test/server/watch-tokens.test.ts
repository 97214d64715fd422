/** Watch tokens: what they open and until when, what ends with them, and what others make up. */

import { createHmac, randomBytes } from 'node:crypto';
import { createClient } from 'graphql-ws';
import { exportSPKI, generateKeyPair, jwtVerify, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket } from 'ws';
import { textOf } from '../../src/db/database.ts';
import { headerOf, revokeTokens, watchTokenPrefix } from '../../src/domain/access/watch-tokens.ts';
import { Hub } from '../../src/events/hub.ts';
import type { App } from '../../src/server/create-app.ts';
import { ask } from '../support/api.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';
import { askForToken, forge, watchToken } from '../support/watch-tokens.ts';

const page = 'https://shop.example';
const nowhere = 'Job:00000000-0000-7000-8000-000000000000';
const typename = '{ __typename }';
const progressOf = 'query ($id: ID!) { job(id: $id) { progress { percent } } }';
const watchJob = 'subscription ($id: ID!) { jobProgress(jobId: $id) { percent } }';

const db = useDatabase();
let app: App;
let other: App;
let admin: string;
/** Trees: one with a child and items, and others beside it. */
let tree: { id: string; child: string };
let elsewhere: string;

beforeAll(async () => {
  const settings = { JOBTREE_AUTH: 'keys', JOBTREE_ALLOWED_ORIGINS: page };
  app = await startServer(db.url, settings);
  other = await startServer(db.url, settings);
  admin = (await makeKey(db, ['admin'])).key;
  tree = await newTree();
  elsewhere = (await newTree()).id;
});
afterAll(async () => {
  await Promise.all([app.close(), other.close()]);
});

async function newTree(): Promise<{ id: string; child: string }> {
  const { data } = await ask(
    app.url,
    admin,
    `mutation { createJob(input: { type: "import", items: [{ payload: { secret: "pie" } }], children: [{ type: "mail" }] }) {
      ... on CreateJobPayload { job { id children { id } } } } }`,
  );
  const { id, children } = data.createJob.job;
  return { id, child: children[0].id };
}

/** A socket with a subscription that does not end by itself. */
async function openSocket(url: string, token: string, id = tree.id) {
  const client = createClient({
    url: url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    connectionParams: bearer(token),
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    client.on('closed', (event) => resolve(event as { code: number; reason: string })),
  );
  const events = client.iterate({ query: watchJob, variables: { id } });
  const first = await events.next();
  const ended = events.next().then(
    () => 'ended',
    () => 'ended',
  );
  onTestFinished(() => client.dispose());
  return { first: first.value, closed, ended };
}

const streamUrl = (base: string, ticket: string, id = tree.id) =>
  `${base}?${new URLSearchParams({ query: watchJob, variables: JSON.stringify({ id }), ticket })}`;

/** What an event stream says, up to its end. */
async function openStream(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers: { accept: 'text/event-stream', ...headers } });
  if (response.status !== 200)
    return { status: response.status, first: await response.text(), rest: undefined };
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  onTestFinished(() => reader.cancel().catch(() => {}));
  const read = async () => {
    const { done, value } = await reader.read();
    return done ? undefined : Buffer.from(value).toString();
  };
  const first = (await read()) ?? '';
  const rest = (async () => {
    let text = '';
    for (
      let part = await read().catch(() => undefined);
      part !== undefined;
      part = await read().catch(() => undefined)
    )
      text += part;
    return text;
  })();
  return { status: 200, first, rest };
}

const ticketFor = async (token: string, url = app.url) =>
  (await ask(url, token, 'mutation { createWatchTicket { ticket } }')).data.createWatchTicket
    .ticket as string;

const codeOf = ({ errors }: { errors?: readonly any[] }) => errors?.[0]?.extensions?.code;

describe('a token', () => {
  it('opens its tree, over HTTP and a WebSocket, on every server', async () => {
    const token = await watchToken(app.url, admin, tree.id);
    expect(token).toMatch(/^jobtree_watch_[\w-]+\.[\w-]+\.[\w-]{43}$/);
    for (const { url } of [app, other]) {
      for (const id of [tree.id, tree.child])
        expect((await ask(url, token, progressOf, { id })).data.job).toEqual({ progress: { percent: null } });
      const { first } = await openSocket(url, token);
      expect(first).toMatchObject({ data: { jobProgress: { percent: null } } });
    }
  });

  it('opens nothing else, with the same error as for unknown ids', async () => {
    const token = await watchToken(app.url, admin, tree.id, 'RESULTS');
    const withoutIds = (value: unknown) =>
      JSON.stringify(value).replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '#');
    const base = app.url.replace('/graphql', '');
    for (const query of [progressOf, 'query ($id: ID!) { job(id: $id) { results { nodes { id } } } }']) {
      const hidden = await ask(app.url, token, query, { id: elsewhere });
      expect(codeOf(hidden)).toBe('NOT_FOUND');
      expect(withoutIds(hidden)).toBe(withoutIds(await ask(app.url, token, query, { id: nowhere })));
    }
    const results = async (id: string) => {
      const response = await fetch(`${base}/api/jobs/${id}/results`, { headers: bearer(token) });
      return [response.status, withoutIds(await response.text())];
    };
    expect(await results(elsewhere)).toEqual(await results(nowhere));
    expect((await results(elsewhere))[0]).toBe(404);
    for (const query of [
      '{ jobs { nodes { id } } }',
      '{ queues { type } }',
      `{ node(id: "${tree.id}") { id } }`,
      `mutation { cancelJob(input: { jobId: "${tree.id}" }) { __typename } }`,
      `mutation { createWatchToken(input: { jobId: "${tree.id}", sees: RESULTS }) { __typename } }`,
      `mutation { revokeWatchTokens(input: { jobId: "${tree.id}" }) { __typename } }`,
      'mutation { createApiKey(input: { name: "x", roles: [ADMIN] }) { __typename } }',
      '{ __schema { queryType { name } } }',
    ])
      expect(codeOf(await ask(app.url, token, query)), query).toBe('FORBIDDEN');
    for (const [path, init] of [
      ['/metrics', {}],
      ['/api/uploads', { method: 'POST', body: 'x', headers: { 'content-type': 'text/csv' } }],
    ] as const)
      expect(
        (await fetch(base + path, { ...init, headers: { ...bearer(token), 'content-type': 'text/csv' } }))
          .status,
      ).toBe(403);
  });

  it('is a JSON Web Signature that any library can read', async () => {
    const { token, expiresAt } = await askForToken(app.url, admin, { jobId: tree.id, sees: 'ITEMS' });
    const [{ secret } = { secret: Buffer.alloc(0) }] = await db.query<{ secret: Buffer }>(
      'select secret from jobtree.watch_secret',
    );
    const { payload, protectedHeader } = await jwtVerify(token.slice(watchTokenPrefix.length), secret, {
      typ: 'jobtree-watch+jwt',
    });
    expect(protectedHeader).toMatchObject({ alg: 'HS256' });
    expect(payload).toEqual({
      sub: tree.id.slice(4),
      sees: 'ITEMS',
      iat: expect.any(Number),
      exp: Date.parse(expiresAt) / 1_000,
    });
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBeCloseTo(900, 3);
  });

  it.each([
    ['a job that there is not', { jobId: nowhere, sees: 'PROGRESS' }, 'NOT_FOUND', 'jobId'],
    ['what is no job', { jobId: 'JobItem:x', sees: 'PROGRESS' }, 'INVALID_INPUT', 'jobId'],
    ['too short a time', { expiresInSeconds: 9, sees: 'PROGRESS' }, 'INVALID_INPUT', 'expiresInSeconds'],
    ['more than a day', { expiresInSeconds: 86_401, sees: 'PROGRESS' }, 'INVALID_INPUT', 'expiresInSeconds'],
  ])('is not created for %s', async (_, input, code, field) => {
    expect(await askForToken(app.url, admin, { jobId: tree.id, ...input })).toMatchObject({ code, field });
  });

  it("is not created for a job below a root, nor by callers that can't see the tree", async () => {
    expect(await askForToken(app.url, admin, { jobId: tree.child, sees: 'PROGRESS' })).toMatchObject({
      code: 'INVALID_INPUT',
      field: 'jobId',
    });
    const { key: narrow } = await makeKey(db, ['producer'], { types: ['import'] });
    const { key: stranger } = await makeKey(db, ['watcher'], { rootIds: [elsewhere.slice(4)] });
    for (const key of [narrow, stranger]) {
      expect(await askForToken(app.url, key, { jobId: tree.id, sees: 'PROGRESS' })).toMatchObject({
        code: 'NOT_FOUND',
      });
      expect(await askForToken(app.url, key, { jobId: tree.id, sees: 'PROGRESS' })).toEqual({
        ...(await askForToken(app.url, key, { jobId: nowhere, sees: 'PROGRESS' })),
        message: `There is no job ${tree.id}.`,
      });
    }
    const { key: worker } = await makeKey(db, ['worker']);
    await expect(askForToken(app.url, worker, { jobId: tree.id, sees: 'PROGRESS' })).rejects.toThrow(
      'FORBIDDEN',
    );
  });
});

describe('refused are', () => {
  const rootId = () => tree.id.slice(4);
  const secretOf = async () =>
    (await db.query<{ secret: Buffer }>('select secret from jobtree.watch_secret order by id desc'))[0]
      ?.secret as Buffer;
  const claims = () => ({
    sub: rootId(),
    sees: 'RESULTS',
    iat: Date.now() / 1_000,
    exp: Date.now() / 1_000 + 60,
  });
  const signed = (header: object, secret: Buffer | Uint8Array) => {
    const text = [header, claims()]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    return `${watchTokenPrefix}${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
  };
  const typ = 'jobtree-watch+jwt';

  const hostile: [string, () => Promise<string> | string][] = [
    [
      'is over',
      () => forge(db, { rootId: rootId(), issuedMs: Date.now() - 20_000, expiresMs: Date.now() - 1_000 }),
    ],
    [
      'is not valid yet',
      () => forge(db, { rootId: rootId(), issuedMs: Date.now() + 60_000, expiresMs: Date.now() + 90_000 }),
    ],
    ['would live for too long', () => forge(db, { rootId: rootId(), expiresMs: Date.now() + 90_000_000 })],
    ['shows what there is not', () => forge(db, { rootId: rootId(), sees: 'EVERYTHING' as never })],
    ['has no end', () => forge(db, { rootId: rootId(), expiresMs: Number.NaN })],
    ['is of another service', () => signed({ alg: 'HS256', typ, kid: '1' }, randomBytes(32))],
    ['is not signed', () => `${watchTokenPrefix}${new UnsecuredJWT(claims()).encode()}`],
    [
      'says alg: none, with the right signature',
      async () => signed({ alg: 'none', typ, kid: '1' }, await secretOf()),
    ],
    ['says another algorithm', async () => signed({ alg: 'HS512', typ, kid: '1' }, await secretOf())],
    ['says another type', async () => signed({ alg: 'HS256', typ: 'JWT', kid: '1' }, await secretOf())],
    [
      'is signed with a public key as a secret',
      async () => {
        const { publicKey } = await generateKeyPair('RS256', { extractable: true });
        return signed({ alg: 'HS256', typ, kid: '1' }, Buffer.from(await exportSPKI(publicKey)));
      },
    ],
    [
      'is signed with a private key',
      async () => {
        const { privateKey } = await generateKeyPair('ES256');
        return `${watchTokenPrefix}${await new SignJWT(claims()).setProtectedHeader({ alg: 'ES256', typ, kid: '1' }).sign(privateKey)}`;
      },
    ],
    ['names a key that there is not', async () => signed({ alg: 'HS256', typ, kid: '0' }, await secretOf())],
    [
      'names a key that there may be soon',
      async () => signed({ alg: 'HS256', typ, kid: '77' }, await secretOf()),
    ],
    [
      'names a key elsewhere',
      async () => signed({ alg: 'HS256', typ, kid: '../../etc/passwd' }, await secretOf()),
    ],
    [
      'names an address for its key',
      async () => signed({ alg: 'HS256', typ, kid: '1', jku: app.url }, await secretOf()),
    ],
    [
      'brings its own key',
      async () => signed({ alg: 'HS256', typ, kid: '1', jwk: { kty: 'oct', k: 'AAAA' } }, Buffer.alloc(3)),
    ],
    [
      'was changed',
      async () =>
        (await watchToken(app.url, admin, tree.id)).replace(/.$/, (last) => (last === 'A' ? 'E' : 'A')),
    ],
    [
      'has the claims of another one',
      async () => {
        const [header, , signature] = (await watchToken(app.url, admin, elsewhere)).split('.');
        return [header, (await watchToken(app.url, admin, tree.id)).split('.')[1], signature].join('.');
      },
    ],
    ['has no prefix', async () => (await watchToken(app.url, admin, tree.id)).slice(watchTokenPrefix.length)],
    ['is only a prefix', () => watchTokenPrefix],
    ['is cut', async () => (await watchToken(app.url, admin, tree.id)).slice(0, -1)],
    ['has a fourth part', async () => `${await watchToken(app.url, admin, tree.id)}.x`],
    ['is nine kilobytes long', () => watchTokenPrefix + 'a'.repeat(9_000)],
    ['is a ticket', async () => ticketFor(await watchToken(app.url, admin, tree.id))],
  ];

  it.each(hostile)('a token that %s', async (_, make) => {
    const token = await make();
    expect(await ask(app.url, token, typename)).toMatchObject({
      errors: [{ extensions: { code: 'UNAUTHENTICATED' } }],
    });
    const client = createClient({
      url: app.url.replace('http', 'ws'),
      webSocketImpl: WebSocket,
      retryAttempts: 0,
      connectionParams: bearer(token),
    });
    const closed = new Promise((resolve) => client.on('closed', resolve));
    client.subscribe({ query: typename }, { next: () => {}, error: () => {}, complete: () => {} });
    expect(await closed).toMatchObject({ code: 4403 });
  });

  it('a large token, before it is parsed, on a socket too', async () => {
    const token = watchTokenPrefix + 'a'.repeat(15_000);
    const client = createClient({
      url: app.url.replace('http', 'ws'),
      webSocketImpl: WebSocket,
      retryAttempts: 0,
      connectionParams: bearer(token),
    });
    const closed = new Promise((resolve) => client.on('closed', resolve));
    client.subscribe({ query: typename }, { next: () => {}, error: () => {}, complete: () => {} });
    expect(await closed).toMatchObject({ code: 4403 });
    const headers = bearer(token + token);
    expect((await fetch(app.url, { method: 'POST', headers, body: '{}' })).status).toBe(431);
  });

  it('tokens with unknown keys are looked up a limited number of times per address, and others are served meanwhile', async () => {
    const token = await watchToken(app.url, admin, tree.id);
    const strange = Array.from({ length: 40 }, (_, i) =>
      signed({ alg: 'HS256', typ, kid: String(1_000 + i) }, randomBytes(32)),
    );
    const statuses = new Set<number>();
    // Ten a second are looked up: on a busy machine these may take long enough for all of them.
    await expect
      .poll(async () => {
        for (const { status } of await Promise.all(strange.map((one) => ask(app.url, one, typename))))
          statuses.add(status);
        return statuses;
      })
      .toEqual(new Set([401, 503]));
    expect(await ask(app.url, token, typename)).toMatchObject({ status: 200 });
  });
});

describe('the end of a watch token', () => {
  it('comes with its expiry: its socket and stream end with a reason, and it is refused', async () => {
    const token = await forge(db, { rootId: tree.id.slice(4), expiresMs: Date.now() + 2_500 });
    const { closed, ended } = await openSocket(app.url, token);
    const stream = await openStream(streamUrl(other.url, await ticketFor(token)));
    expect(await closed).toMatchObject({ code: 4403, reason: 'The watch token has expired.' });
    expect(await ended).toBe('ended');
    expect(await stream.rest).toContain('UNAUTHENTICATED');
    expect(await ask(app.url, token, typename)).toMatchObject({ status: 401 });
  });

  it('comes within five seconds on all servers when those of its tree are revoked, and for no others', async () => {
    const { id } = await newTree();
    const token = await watchToken(app.url, admin, id);
    const sockets = await Promise.all([openSocket(app.url, token, id), openSocket(other.url, token, id)]);
    const stream = await openStream(streamUrl(other.url, await ticketFor(token), id));
    const waiting = await ticketFor(token);
    const { key } = await makeKey(db, ['watcher']);
    const byKey = await openSocket(other.url, key, id);
    const ofOther = await openSocket(other.url, await watchToken(app.url, admin, tree.id));
    const startedAt = performance.now();
    const { data } = await ask(
      app.url,
      admin,
      `mutation { revokeWatchTokens(input: { jobId: "${id}" }) { ... on RevokeWatchTokensPayload { revokedAt } } }`,
    );
    expect(data.revokeWatchTokens.revokedAt).toBeTruthy();
    for (const { closed, ended } of sockets) {
      expect(await closed).toMatchObject({ code: 4403, reason: 'The watch token was revoked.' });
      expect(await ended).toBe('ended');
    }
    expect(await stream.rest).toContain('UNAUTHENTICATED');
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    for (const { url } of [app, other])
      expect(await ask(url, token, typename)).toMatchObject({ status: 401 });
    expect((await openStream(streamUrl(app.url, waiting, id))).status).toBe(401);
    const next = await watchToken(other.url, admin, id);
    for (const { url } of [app, other]) expect(await ask(url, next, typename)).toMatchObject({ status: 200 });
    for (const quiet of [byKey, ofOther])
      expect(await Promise.race([quiet.ended, quiet.closed, ask(other.url, key, typename)])).toMatchObject({
        status: 200,
      });
    // Again, of the same tree, up to the very millisecond.
    const [again] = await db.query<{ revoked_at: Date }>(textOf(revokeTokens), [id.slice(4)]);
    const issuedMs = again?.revoked_at.getTime() ?? 0;
    const last = await forge(db, { rootId: id.slice(4), issuedMs, expiresMs: issuedMs + 60_000 });
    for (const one of [next, last])
      await expect.poll(async () => (await ask(other.url, one, typename)).status).toBe(401);
  });

  it('is noticed even if the revocation commits long after later ones', async () => {
    const [slow, quick] = [await newTree(), await newTree()];
    const token = await watchToken(app.url, admin, slow.id);
    const { closed } = await openSocket(app.url, token, slow.id);
    const database = db.open();
    onTestFinished(() => database.close());
    const transaction = await database.pool.connect();
    await transaction.query('begin');
    await transaction.query(textOf(revokeTokens), [slow.id.slice(4)]);
    const quickToken = await watchToken(app.url, admin, quick.id);
    const quickSocket = await openSocket(app.url, quickToken, quick.id);
    await db.query(textOf(revokeTokens), [quick.id.slice(4)]);
    expect(await quickSocket.closed).toMatchObject({ code: 4403 });
    expect(await ask(app.url, token, typename)).toMatchObject({ status: 200 });
    await transaction.query('commit');
    transaction.release();
    expect(await closed).toMatchObject({ code: 4403, reason: 'The watch token was revoked.' });
  });

  it('comes with the second rotation of the secret, not with the first', async () => {
    const token = await watchToken(app.url, admin, tree.id);
    const { closed } = await openSocket(other.url, token);
    const rotate = () => ask(app.url, admin, 'mutation { rotateWatchSecret { rotated } }');
    await rotate();
    const next = await watchToken(app.url, admin, tree.id);
    // At once on a server that does not know the secret yet.
    for (const one of [next, token])
      expect(await ask(other.url, one, typename)).toMatchObject({ status: 200 });
    expect(next.split('.')[0]).not.toBe(token.split('.')[0]);
    await rotate();
    expect(await closed).toMatchObject({ code: 4403, reason: 'The watch token was revoked.' });
    await expect.poll(async () => (await ask(app.url, token, typename)).status).toBe(401);
    expect(await ask(app.url, next, typename)).toMatchObject({ status: 200 });
    expect(await db.query('select 1 from jobtree.watch_secret')).toHaveLength(2);
  });

  it('leaves nothing behind with its tree, or once it has expired', async () => {
    const { id } = await newTree();
    const revoke = (jobId: string) => db.query(textOf(revokeTokens), [jobId.slice(4)]);
    const rows = (rootId: string) =>
      db.query('select 1 from jobtree.tree where root_id = $1 and revoked_at is not null', [rootId.slice(4)]);
    await revoke(id);
    await ask(app.url, admin, `mutation { deleteJob(input: { jobId: "${id}" }) { __typename } }`);
    await expect.poll(() => rows(id)).toEqual([]);
    const [old, recent] = [await newTree(), await newTree()];
    for (const [tree, ago] of [
      [old, '26 hours'],
      [recent, '24 hours 1 minute'],
    ] as const) {
      await revoke(tree.id);
      await db.query('update jobtree.tree set revoked_at = now() - $2::interval where root_id = $1', [
        tree.id.slice(4),
        ago,
      ]);
    }
    await revoke((await newTree()).id);
    expect([await rows(old.id), (await rows(recent.id)).length]).toEqual([[], 1]);
  });

  it('is final, even if the clock of Postgres goes back', async () => {
    const rootId = (await newTree()).id.slice(4);
    const later = new Date(Date.now() + 3_600_000);
    await db.query('update jobtree.tree set revoked_at = $2, revoked_in = 1 where root_id = $1', [
      rootId,
      later,
    ]);
    expect(await db.query(textOf(revokeTokens), [rootId])).toEqual([{ revoked_at: later }]);
  });
});

describe('a ticket', () => {
  it('opens one event stream once, among concurrent uses on all servers', async () => {
    const token = await watchToken(app.url, admin, tree.id);
    const ticket = await ticketFor(token);
    const streams = await Promise.all(
      [app, other, app, other].map(({ url }) => openStream(streamUrl(url, ticket))),
    );
    expect(streams.map(({ status }) => status).toSorted()).toEqual([200, 401, 401, 401]);
    expect(streams.find(({ status }) => status === 200)?.first).toContain('"jobProgress"');
    expect((await openStream(streamUrl(app.url, ticket))).status).toBe(401);
    const rows = JSON.stringify(await db.query('select t::text from jobtree.watch_ticket t'));
    expect(rows).not.toContain(ticket.slice(-20));
  });

  it('is valid only for an event stream of its tree', async () => {
    const token = await watchToken(app.url, admin, tree.id);
    const hidden = await openStream(streamUrl(app.url, await ticketFor(token), elsewhere));
    expect(hidden.first).toContain('NOT_FOUND');
    const ticket = await ticketFor(token);
    const query = new URLSearchParams({ query: typename, ticket });
    expect((await fetch(`${app.url}?${query}`, { headers: { accept: 'application/json' } })).status).toBe(
      401,
    );
    const posted = {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: '{}',
    };
    expect((await fetch(`${app.url}?${query}`, posted)).status).toBe(401);
    expect(await ask(app.url, ticket, typename)).toMatchObject({ status: 401 });
    // None of these used it up.
    expect((await openStream(streamUrl(app.url, ticket))).status).toBe(200);
  });

  it('expires after half a minute and is removed', async () => {
    const token = await watchToken(app.url, admin, tree.id);
    const ticket = await ticketFor(token);
    await db.query(`update jobtree.watch_ticket set expires_at = now() - interval '1 second'`);
    expect((await openStream(streamUrl(app.url, ticket))).status).toBe(401);
    await ticketFor(token);
    expect(await db.query('select 1 from jobtree.watch_ticket where expires_at < now()')).toEqual([]);
  });

  it('is created only by watch tokens', async () => {
    expect(codeOf(await ask(app.url, admin, 'mutation { createWatchTicket { ticket } }'))).toBe('FORBIDDEN');
  });
});

describe('a page of another origin', () => {
  const from = (origin: string) => ({ origin });

  it('may use a token in every way if its origin is allowed', async () => {
    const token = await watchToken(app.url, admin, tree.id);
    const preflight = await fetch(app.url, {
      method: 'OPTIONS',
      headers: {
        ...from(page),
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type',
      },
    });
    expect(preflight.headers.get('access-control-allow-origin')).toBe(page);
    expect(preflight.headers.get('access-control-allow-headers')).toContain('authorization');
    const response = await fetch(app.url, {
      method: 'POST',
      headers: { ...from(page), ...bearer(token), 'content-type': 'application/json' },
      body: JSON.stringify({ query: typename }),
    });
    expect(response.headers.get('access-control-allow-origin')).toBe(page);
    expect(response.headers.get('access-control-allow-credentials')).toBeNull();
    expect((await openStream(streamUrl(app.url, await ticketFor(token)), from(page))).status).toBe(200);
  });

  it('may not if it is not, and uses up no ticket', async () => {
    const token = await watchToken(app.url, admin, tree.id);
    const ticket = await ticketFor(token);
    const evil = from('https://evil.example');
    expect(
      (await fetch(app.url, { method: 'POST', headers: { ...evil, ...bearer(token) }, body: '{}' })).status,
    ).toBe(403);
    expect((await openStream(streamUrl(app.url, ticket), evil)).status).toBe(403);
    const socket = new WebSocket(app.url.replace('http', 'ws'), 'graphql-transport-ws', { headers: evil });
    const refused = await new Promise<Error>((resolve) => socket.on('error', resolve));
    expect(refused.message).toContain('403');
    expect((await openStream(streamUrl(app.url, ticket))).status).toBe(200);
  });
});

it('a token of a tenant shows names as the tenant writes them, by a ticket too, and no tenant revokes those of others', async () => {
  const { key } = await makeKey(db, ['admin'], { tenant: 'acme' });
  const create = 'mutation { createJob(input: { type: "mail" }) { ... on CreateJobPayload { job { id } } } }';
  const { id } = (await ask(app.url, key, create)).data.createJob.job;
  const token = await watchToken(app.url, key, id);
  const query = 'query ($id: ID!) { job(id: $id) { type } }';
  expect((await ask(app.url, token, query, { id })).data.job).toEqual({ type: 'mail' });
  await ticketFor(token);
  const [ticket] = await db.query<{ tenant: string }>(
    'select tenant from jobtree.watch_ticket where root_id = $1',
    [id.slice(4)],
  );
  expect(ticket?.tenant).toBe('acme');
  expect((await openStream(streamUrl(app.url, await ticketFor(token), id))).first).toContain('jobProgress');
  expect(codeOf(await ask(app.url, key, 'mutation { rotateWatchSecret { rotated } }'))).toBe('FORBIDDEN');
  const other = await makeKey(db, ['admin'], { tenant: 'globex' });
  expect(await askForToken(app.url, other.key, { jobId: id, sees: 'PROGRESS' })).toMatchObject({
    code: 'NOT_FOUND',
  });
});

it('watchers of a tree with equal tokens share their source', async () => {
  const watched = vi.spyOn(Hub.prototype, 'watchJob');
  onTestFinished(() => watched.mockRestore());
  const { id } = await newTree();
  for (const seconds of [10, 900, 86_400])
    await openSocket(app.url, await watchToken(app.url, admin, id, 'PROGRESS', seconds), id);
  expect(watched).toHaveBeenCalledTimes(1);
});

it('the header of a token equals that of its secret exactly', () => {
  expect(Buffer.from(headerOf(7), 'base64url').toString()).toBe(
    '{"alg":"HS256","typ":"jobtree-watch+jwt","kid":"7"}',
  );
});
