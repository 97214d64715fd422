/** JSON Web Tokens of an issuer that rotates its keys, is away, or hangs; and what others make up. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient } from 'graphql-ws';
import {
  exportJWK,
  exportSPKI,
  generateKeyPair,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
  UnsecuredJWT,
} from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { App } from '../../src/server/create-app.ts';
import { makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;

const db = useDatabase();
let issuer: Server;
let answer: RequestListener;
let fetches = 0;
let app: App;
let first: Pair;
let second: Pair;

const issuerName = 'https://issuer.example';
const audience = 'jobtree';

beforeAll(async () => {
  first = await generateKeyPair('RS256', { extractable: true });
  second = await generateKeyPair('ES256', { extractable: true });
  issuer = createServer((request, response) => {
    fetches++;
    answer(request, response);
  });
  await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  issuer.closeAllConnections();
  issuer.close();
});

const gives =
  (...keys: object[]): RequestListener =>
  (_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ keys }));
  };
const jwkOf = async ({ publicKey }: Pair, kid: string, alg: string) => ({
  ...(await exportJWK(publicKey)),
  kid,
  alg,
  use: 'sig',
});

beforeEach(async () => {
  answer = gives(await jwkOf(first, 'first', 'RS256'));
  fetches = 0;
  const { port } = issuer.address() as AddressInfo;
  app = await startServer(db.url, {
    JOBTREE_AUTH: 'jwt,keys',
    JOBTREE_JWT_ISSUER: issuerName,
    JOBTREE_JWT_AUDIENCE: audience,
    JOBTREE_JWT_JWKS_URL: `http://127.0.0.1:${port}/keys`,
    JOBTREE_JWT_CLOCK_SKEW_SECONDS: '0',
  });
});
afterEach(() => app.close());

const now = () => Math.floor(Date.now() / 1_000);

function sign(
  claims: JWTPayload = {},
  { pair = first, header = {} as Partial<JWTHeaderParameters> } = {},
): Promise<string> {
  const payload = {
    iss: issuerName,
    aud: audience,
    sub: 'ada',
    exp: now() + 60,
    jobtree_roles: ['watcher'],
    ...claims,
  };
  return new SignJWT(payload)
    .setProtectedHeader({ alg: 'RS256', kid: 'first', ...header })
    .sign(pair.privateKey);
}

async function ask(token: string, query = '{ queues { type } }') {
  const response = await fetch(app.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      authorization: `Bearer ${token}`,
    },
    body: JSON.stringify({ query }),
  });
  const { errors } = (await response.json()) as {
    errors?: { message: string; extensions: { code: string } }[];
  };
  return { status: response.status, code: errors?.[0]?.extensions.code, message: errors?.[0]?.message };
}

it('a token grants the roles and scopes of its claims, and is verified once', async () => {
  const token = await sign({ jobtree_roles: 'producer worker', jobtree_types: ['mail.*'] });
  expect(await ask(token)).toEqual({ status: 200 });
  expect(await ask(token, '{ serializeKeys { key } }')).toMatchObject({ code: 'FORBIDDEN' });
  expect(await ask(token, 'mutation { createJob(input: { type: "bill" }) { __typename } }')).toMatchObject({
    code: 'FORBIDDEN',
  });
  expect(await ask(token, 'mutation { createJob(input: { type: "mail.a" }) { __typename } }')).toEqual({
    status: 200,
  });
  expect(fetches).toBe(1);
});

it('a token without a role is told which claim it lacks', async () => {
  expect(await ask(await sign({ jobtree_roles: undefined }))).toMatchObject({
    status: 401,
    message: 'The token has no role: its claim jobtree_roles is missing or empty.',
  });
});

it('the viewer knows until when its token or key is good, and the server how callers sign in', async () => {
  const get = async (token: string) => {
    const body = JSON.stringify({
      query:
        '{ viewer { name expiresAt } server { version signIn transport maxRequestBytes maxJsonBytes maxUploadBytes } }',
    });
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    return ((await (await fetch(app.url, { method: 'POST', headers, body })).json()) as { data: Seen }).data;
  };
  interface Seen {
    viewer: { name: string; expiresAt: string | null };
    server: object;
  }
  const exp = now() + 60;
  const { viewer, server } = await get(await sign({ exp }));
  expect(viewer.name).toBe('token ada');
  expect(Math.abs(Date.parse(viewer.expiresAt ?? '') - exp * 1_000)).toBeLessThan(1_000);
  expect(server).toEqual({
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    signIn: ['JWT', 'KEYS'],
    transport: 'NOTIFY',
    maxRequestBytes: 8_000_000,
    maxJsonBytes: 1_000_000,
    maxUploadBytes: 10_000_000_000,
  });
  const expiresAt = new Date(Date.now() + 3_600_000);
  const { key: ending } = await makeKey(db, ['watcher'], { expiresAt });
  const seen = await get(ending);
  expect(Math.abs(Date.parse(seen.viewer.expiresAt ?? '') - expiresAt.getTime())).toBeLessThan(2_000);
  const { key: lasting } = await makeKey(db, ['watcher']);
  expect((await get(lasting)).viewer.expiresAt).toBeNull();
});

it('a token can belong to a tenant, and sees nothing of others', async () => {
  const create = 'mutation { createJob(input: { type: "mail" }) { __typename } }';
  const only = (type: string) => `{ jobs(filter: { types: "${type}" }) { nodes { id } } }`;
  const acme = await sign({ jobtree_roles: ['admin'], jobtree_tenant: 'acme' });
  expect(await ask(acme, create)).toEqual({ status: 200 });
  expect(await ask(acme, only('mail'))).toEqual({ status: 200 });
  const narrow = await sign({ jobtree_roles: ['producer'], jobtree_tenant: 'acme', jobtree_types: ['bill'] });
  expect(await ask(narrow, create)).toMatchObject({
    code: 'FORBIDDEN',
    message: 'Your scope does not include the type "mail".',
  });
  for (const jobtree_tenant of ['ac*', '', 'a//b', 'Acme', 7, null, ['acme']])
    expect(await ask(await sign({ jobtree_tenant }))).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' });
  expect(await db.query("select type from jobtree.job where type like '%mail'")).toEqual([
    { type: 'acme//mail' },
  ]);
});

it('API keys are valid beside tokens', async () => {
  const { key } = await makeKey(db, ['watcher']);
  expect(await ask(key)).toEqual({ status: 200 });
  expect(fetches).toBe(0);
});

const hostile: [string, () => Promise<string> | string][] = [
  ['is over', () => sign({ exp: now() - 5 })],
  ['is not valid yet', () => sign({ nbf: now() + 60 })],
  ['has no end', () => sign({ exp: undefined as never })],
  ['has an end that is no number', () => sign({ exp: '9999999999' as never })],
  ['has no subject', () => sign({ sub: undefined as never })],
  ['is another issuer’s', () => sign({ iss: 'https://evil.example' })],
  ['is for somebody else', () => sign({ aud: 'other' })],
  [
    'is not signed',
    () =>
      new UnsecuredJWT({
        iss: issuerName,
        aud: audience,
        sub: 'ada',
        exp: now() + 60,
        jobtree_roles: ['admin'],
      }).encode(),
  ],
  [
    'is signed with the public key as a secret',
    async () => {
      const secret = Buffer.from(await exportSPKI(first.publicKey));
      return new SignJWT({
        iss: issuerName,
        aud: audience,
        sub: 'ada',
        exp: now() + 60,
        jobtree_roles: ['admin'],
      })
        .setProtectedHeader({ alg: 'HS256', kid: 'first' })
        .sign(secret);
    },
  ],
  ['is signed with another key of that id', async () => sign({}, { pair: await generateKeyPair('RS256') })],
  [
    'is signed in a way that is not allowed',
    async () => sign({}, { pair: await generateKeyPair('PS512'), header: { alg: 'PS512' } }),
  ],
  [
    'brings its own key',
    async () => {
      const pair = await generateKeyPair('RS256', { extractable: true });
      return sign({}, { pair, header: { jwk: await exportJWK(pair.publicKey) } as never });
    },
  ],
  ['names a role that there is not', () => sign({ jobtree_roles: ['king'] })],
  ['names no role', () => sign({ jobtree_roles: [] })],
  ['has a claim of another kind', () => sign({ jobtree_roles: { admin: true } })],
  ['is an admin with a scope', () => sign({ jobtree_roles: ['admin'], jobtree_types: ['a'] })],
  ['has a star in the middle of a type', () => sign({ jobtree_types: ['a*b'] })],
  ['is none', () => 'a.b.c'],
  ['was changed', async () => `${(await sign()).slice(0, -4)}AAAA`],
];

it.each(hostile)('a token that %s is refused', async (_, make) => {
  expect(await ask(await make())).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' });
});

it('a key id that points elsewhere, or an address in a token, is never fetched', async () => {
  let strays = 0;
  const stray = createServer((_, response) => {
    strays++;
    response.end('{}');
  });
  await new Promise<void>((resolve) => stray.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(stray.address() as AddressInfo).port}/`;
  for (const header of [
    { kid: url },
    { kid: '../../etc/passwd' },
    { kid: 'first', jku: url },
    { kid: 'first', x5u: url },
  ])
    expect(
      (await ask(await sign({}, { header: header as never, pair: await generateKeyPair('RS256') }))).code,
    ).toMatch(/^(UNAUTHENTICATED|UNAVAILABLE)$/);
  expect(strays).toBe(0);
  stray.close();
});

it('a token as large as a message may be is refused before it is parsed, on a socket too', async () => {
  const large = 'a'.repeat(15_000);
  const client = createClient({
    url: app.url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    connectionParams: { authorization: `Bearer ${large}` },
  });
  const closed = new Promise((resolve) => client.on('closed', resolve));
  client.subscribe({ query: '{ __typename }' }, { next: () => {}, error: () => {}, complete: () => {} });
  expect(await closed).toMatchObject({ code: 4403 });
  expect(fetches).toBe(0);
});

it('a socket ends when its token expires, with 4403', async () => {
  const client = createClient({
    url: app.url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    connectionParams: { authorization: `Bearer ${await sign({ exp: now() + 2 })}` },
  });
  const closed = new Promise((resolve) => client.on('closed', resolve));
  const events = client.iterate({ query: 'subscription { queues { type } }' });
  await events.next();
  events.next().catch(() => {});
  expect(await closed).toMatchObject({ code: 4403, reason: 'The token has expired.' });
});

describe('an issuer', () => {
  it('rotates its keys, and a new one is fetched when it is first named', async () => {
    expect((await ask(await sign())).status).toBe(200);
    answer = gives(await jwkOf(second, 'second', 'ES256'));
    // The same token all the time: nothing of what it was refused is remembered.
    const token = await sign({}, { pair: second, header: { alg: 'ES256', kid: 'second' } });
    const statuses = new Set<number>();
    await expect
      .poll(
        async () => {
          const { status } = await ask(token);
          statuses.add(status);
          return status;
        },
        { timeout: 15_000, interval: 500 },
      )
      .toBe(200);
    expect(statuses).toEqual(new Set([503, 200]));
    expect(fetches).toBe(2);
  });

  it('that hangs does not affect tokens with known keys, or API keys', async () => {
    const known = await sign();
    expect((await ask(known)).status).toBe(200);
    let asked = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    answer = () => asked();
    const { key } = await makeKey(db, ['watcher']);
    // Until then a new key is not looked for.
    await new Promise((resolve) => setTimeout(resolve, 5_100));
    const waiting = ask(await sign({}, { header: { kid: 'new' } }));
    await isAsked;
    const others = await Promise.all([
      ask(known),
      sign({ sub: 'bob' }).then((token) => ask(token)),
      ask(key),
    ]);
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await waiting).toMatchObject({ status: 503, code: 'UNAVAILABLE' });
  });

  it('that is away from the start gives tokens 503, and API keys continue', async () => {
    answer = (_, response) => response.writeHead(500).end();
    expect(await ask(await sign())).toMatchObject({ status: 503, code: 'UNAVAILABLE' });
    const { key } = await makeKey(db, ['watcher']);
    expect((await ask(key)).status).toBe(200);
  });
});
