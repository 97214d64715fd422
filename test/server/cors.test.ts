/** What pages of another origin may ask for and read, on every path. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import type { App } from '../../src/server/create-app.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const page = { origin: 'https://shop.example' };
const stranger = { origin: 'https://evil.example' };

const db = useDatabase();
let app: App;
let open: App;
let key: string;
let jobId: string;
beforeAll(async () => {
  const settings = {
    JOBTREE_ALLOWED_ORIGINS: `${page.origin},https://other.example`,
    JOBTREE_METRICS: 'true',
    JOBTREE_CALLER_REQUESTS_PER_SECOND: '1000',
  };
  app = await startServer(db.url, { ...settings, JOBTREE_AUTH: 'keys' });
  open = await startServer(db.url, settings);
  key = (await makeKey(db, ['admin'])).key;
  const client = createClient({ url: app.url, token: key });
  jobId = (await client.createJob({ type: 'shown', items: [{}], sealed: true })).id;
  await client.close();
});
afterAll(async () => {
  await Promise.all([app.close(), open.close()]);
});

const json = { 'content-type': 'application/json' };
const bytes = { 'content-type': 'application/octet-stream' };
const query = '{"query": "{ __typename }"}';
const form = () => {
  const body = new FormData();
  body.append('operations', '{}');
  return body;
};
/** Every path, and each way into it. */
const ways: [string, string, () => RequestInit, number][] = [
  ['GET /graphql', 'graphql?query={__typename}', () => ({}), 200],
  ['POST /graphql', 'graphql', () => ({ method: 'POST', headers: json, body: query }), 200],
  ['a syntax error', 'graphql', () => ({ method: 'POST', headers: json, body: '{"query": "{"}' }), 200],
  [
    'a multipart request',
    'graphql',
    () => ({ method: 'POST', headers: { 'apollo-require-preflight': '1' }, body: form() }),
    400,
  ],
  ['POST /api/uploads', 'api/uploads', () => ({ method: 'POST', headers: bytes, body: 'x' }), 201],
  ['GET /api/uploads/:id', 'api/uploads/x', () => ({}), 400],
  ['GET /api/jobs/:id/results', 'api/jobs/#/results', () => ({}), 200],
  ['results of no job', 'api/jobs/x/results', () => ({}), 400],
  ['GET /metrics', 'metrics', () => ({}), 200],
  ['what is not there', 'api/nothing', () => ({}), 404],
];
const send = (base: string, path: string, init: RequestInit, headers: Record<string, string>) =>
  fetch(new URL(path.replace('#', jobId), base.replace('graphql', '')), {
    ...init,
    headers: { ...(init.headers as Record<string, string>), ...headers },
  });

describe.each(ways)('%s', (_, path, init, status) => {
  it('is requested and read by pages of allowed origins only', async () => {
    for (const { url } of [app, open]) {
      const preflight = {
        'access-control-request-method': init().method ?? 'GET',
        'access-control-request-headers': 'authorization,content-type,x-of-a-proxy',
      };
      const asked = await send(url, path, { method: 'OPTIONS' }, { ...page, ...preflight });
      expect([asked.status, await asked.text()]).toEqual([204, '']);
      expect(asked.headers.get('access-control-allow-origin')).toBe(page.origin);
      expect(asked.headers.get('access-control-allow-methods')).toContain(init().method ?? 'GET');
      expect(asked.headers.get('access-control-allow-headers')).toContain('x-of-a-proxy');

      const refused = await send(url, path, { method: 'OPTIONS' }, { ...stranger, ...preflight });
      expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([403, null]);
      const unread = await send(url, path, init(), { ...stranger, ...bearer(key) });
      expect([unread.status, unread.headers.get('access-control-allow-origin')]).toEqual([403, null]);
      expect(await unread.json()).toEqual({
        errors: [
          {
            message: 'Pages of this origin may not use the API.',
            extensions: { code: 'FORBIDDEN' },
          },
        ],
      });

      const answer = await send(url, path, init(), { ...page, ...bearer(key) });
      await answer.text();
      expect(answer.status).toBe(status);
      expect(answer.headers.get('access-control-allow-origin')).toBe(page.origin);
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
      expect(answer.headers.get('vary')).toContain('origin');
      const exposed = answer.headers.get('access-control-expose-headers')?.split(', ') ?? [];
      const own = ['ratelimit', 'jobtree-complete', 'location', 'repr-digest', 'tus-resumable'];
      for (const name of own.filter((header) => answer.headers.has(header))) expect(exposed).toContain(name);
    }
  });

  it('says that a page sends no key, and not that something failed', async () => {
    const answer = await send(app.url, path, init(), page);
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([401, page.origin]);
    expect(await answer.json()).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] });
  });
});

describe('a refusal of the guard', () => {
  const refusals: [string, () => RequestInit][] = [
    [
      'a body with an encoding',
      () => ({ method: 'POST', headers: { ...json, 'content-encoding': 'gzip' }, body: query }),
    ],
    ['a multipart request that a form could send', () => ({ method: 'POST', body: form() })],
  ];

  it.each(refusals)('%s can be read by a page of an allowed origin, and by no other', async (_, init) => {
    const refused = await send(app.url, 'graphql', init(), { ...page, ...bearer(key) });
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([415, page.origin]);
    expect(refused.headers.get('vary')).toContain('origin');
    expect(await refused.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_REQUEST' } }] });
    const other = await send(app.url, 'graphql', init(), { ...stranger, ...bearer(key) });
    expect([other.status, other.headers.get('access-control-allow-origin')]).toEqual([403, null]);
  });
});

it('under /api has the form of all errors', async () => {
  const post = { method: 'POST', body: 'a=b' };
  const refused = await send(app.url, 'api/uploads', post, { 'content-type': 'text/plain' });
  expect(refused.status).toBe(415);
  expect(refused.headers.get('content-type')).toBe('application/json');
  expect(await refused.json()).toEqual({
    errors: [{ message: expect.stringContaining('Content-Type'), extensions: { code: 'BAD_REQUEST' } }],
  });
});
