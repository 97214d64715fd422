/** Headers of a proxy: believed from the proxy alone. */
import { request } from 'node:http';
import { expect, it } from 'vitest';
import type { Answer } from '../support/api.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();

const secret = 'a-secret-of-the-proxy-and-the-server';
const says = { 'x-forwarded-user': 'ada', 'x-forwarded-roles': 'watcher, producer' };

async function statusFor(env: Record<string, string>, headers: Record<string, string>): Promise<number> {
  const app = await startServer(db.url, { JOBTREE_AUTH: 'proxy', ...env });
  try {
    const response = await fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query: '{ queues { type } }' }),
    });
    return response.status;
  } finally {
    await app.close();
  }
}

it.each([
  ['the secret', { JOBTREE_PROXY_SECRET: secret }, { ...says, 'jobtree-proxy-secret': secret }, 200],
  ['no secret', { JOBTREE_PROXY_SECRET: secret }, says, 401],
  ['another secret', { JOBTREE_PROXY_SECRET: secret }, { ...says, 'jobtree-proxy-secret': 'x' }, 401],
  ['its address', { JOBTREE_PROXY_NETWORKS: '127.0.0.0/8' }, says, 200],
  ['another address', { JOBTREE_PROXY_NETWORKS: '10.0.0.0/8,::1/128' }, says, 401],
  [
    'an address that it forwards',
    { JOBTREE_PROXY_NETWORKS: '10.0.0.0/8', JOBTREE_TRUSTED_PROXIES: '1' },
    { ...says, 'x-forwarded-for': '10.0.0.1' },
    401,
  ],
  [
    'the secret from another address',
    { JOBTREE_PROXY_SECRET: secret, JOBTREE_PROXY_NETWORKS: '10.0.0.0/8' },
    { ...says, 'jobtree-proxy-secret': secret },
    401,
  ],
  ['no roles', { JOBTREE_PROXY_NETWORKS: '127.0.0.0/8' }, { 'x-forwarded-user': 'ada' }, 401],
  [
    'a role that there is not',
    { JOBTREE_PROXY_NETWORKS: '127.0.0.0/8' },
    { ...says, 'x-forwarded-roles': 'king' },
    401,
  ],
  ['no user', { JOBTREE_PROXY_NETWORKS: '127.0.0.0/8' }, { 'x-forwarded-roles': 'admin' }, 401],
  [
    'headers of its own',
    {
      JOBTREE_PROXY_NETWORKS: '127.0.0.0/8',
      JOBTREE_PROXY_USER_HEADER: 'X-User',
      JOBTREE_PROXY_ROLES_HEADER: 'X-Roles',
    },
    { 'x-user': 'ada', 'x-roles': 'watcher' },
    200,
  ],
])('with %s', async (_, env, headers, status) => {
  expect(
    await statusFor(env as unknown as Record<string, string>, headers as unknown as Record<string, string>),
  ).toBe(status);
});

it('a tenant is the one in the header, and none without it', async () => {
  const app = await startServer(db.url, { JOBTREE_AUTH: 'proxy', JOBTREE_PROXY_SECRET: secret });
  try {
    const run = async (tenant: string | undefined, query: string) => {
      const response = await fetch(app.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json',
          ...says,
          'jobtree-proxy-secret': secret,
          ...(tenant !== undefined && { 'x-forwarded-tenant': tenant }),
        },
        body: JSON.stringify({ query }),
      });
      const { data, errors } = (await response.json()) as Answer;
      return errors === undefined ? data : { status: response.status, message: errors[0]?.message };
    };
    await run('acme', 'mutation { createJob(input: { type: "mail" }) { __typename } }');
    const jobs = '{ jobs { nodes { type } } }';
    expect(await run('acme', jobs)).toEqual({ jobs: { nodes: [{ type: 'mail' }] } });
    expect(await run('globex', jobs)).toEqual({ jobs: { nodes: [] } });
    expect(await run(undefined, jobs)).toEqual({ jobs: { nodes: [{ type: 'acme//mail' }] } });
    for (const tenant of ['ac*', 'acme, globex', '']) {
      const refusal = { status: 401, message: expect.stringContaining('an invalid tenant') };
      expect(await run(tenant, jobs)).toEqual(refusal);
    }
  } finally {
    await app.close();
  }
});

it.each([
  ['a user', ['X-Forwarded-User', 'eve', 'X-Forwarded-User', 'ada', 'X-Forwarded-Roles', 'watcher']],
  ['roles', ['X-Forwarded-User', 'ada', 'X-Forwarded-Roles', 'admin', 'x-forwarded-roles', 'watcher']],
  ['a tenant', ['X-Forwarded-User', 'ada', 'X-Forwarded-Tenant', 'a', 'x-forwarded-tenant', 'a']],
])('%s from both the caller and the proxy are refused', async (_, headers) => {
  const app = await startServer(db.url, { JOBTREE_AUTH: 'proxy', JOBTREE_PROXY_NETWORKS: '127.0.0.0/8' });
  const send = (more: string[]) =>
    new Promise<number | undefined>((resolve, reject) => {
      const { host } = new URL(app.url);
      const all = ['Host', host, 'Content-Type', 'application/json', ...more];
      request(app.url, { method: 'POST', headers: all }, (response) => resolve(response.resume().statusCode))
        .on('error', reject)
        .end('{"query":"{ __typename }"}');
    });
  expect(await send(headers)).toBe(401);
  expect(await send(['X-Forwarded-User', 'ada', 'X-Forwarded-Roles', 'watcher'])).toBe(200);
  await app.close();
});
