/** Keys and tokens that were shown, rightly or wrongly, stand nowhere: in no line of the log at its most talkative, and in no row. */
import { createClient as connect } from 'graphql-ws';
import { SignJWT } from 'jose';
import pino from 'pino';
import { expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { createClient, Worker } from '../../src/client/index.ts';
import { readConfig } from '../../src/config/config.ts';
import { createApp } from '../../src/server/create-app.ts';
import { createDatabase } from '../support/database.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { useDatabase } from '../support/use-server.ts';
import { watchToken } from '../support/watch-tokens.ts';

const db = useDatabase();

it('no line of a traced run contains a key, a token or the secret of a proxy, and no table contains a key', async () => {
  let log = '';
  const write = (text: string) => {
    log += text;
  };
  const logger = pino({ level: 'trace' }, { write });
  const proxySecret = 'planted-secret-of-the-proxy-0123456789';
  const config = readConfig({
    JOBTREE_PORT: '0',
    JOBTREE_LOG_LEVEL: 'trace',
    JOBTREE_AUTH: 'keys,jwt,proxy',
    JOBTREE_JWT_ISSUER: 'https://issuer.example',
    JOBTREE_JWT_AUDIENCE: 'jobtree',
    // Nobody listens there, so its failures are logged, too.
    JOBTREE_JWT_JWKS_URL: 'http://127.0.0.1:9/keys',
    JOBTREE_PROXY_SECRET: proxySecret,
  });
  const app = await createApp({ config, databaseUrl: db.url, logger });
  const admin = (await makeKey(db, ['admin'])).key;
  const stranger = await createDatabase();
  const unknown = (await makeKey(stranger, ['admin'])).key;
  await stranger.drop();
  const token = await new SignJWT({ sub: 'ada' })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1h')
    .sign(Buffer.alloc(32));
  const ask = (headers: Record<string, string>, body: string, path = '') =>
    fetch(`${app.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });

  const client = createClient({ url: app.url, token: admin });
  const { id } = await client.createJob({ type: 'canary', items: [{ payload: 1 }], sealed: true });
  const worker = new Worker({ client, types: { canary: { concurrency: 1, handler: async () => 1 } } });
  await worker.start();
  for await (const progress of client.watchJob(id)) if (progress.status === 'COMPLETED') break;
  await worker.stop();
  const create =
    'mutation { createApiKey(input: { name: "made", roles: [WORKER] }) { ... on CreateApiKeyPayload { key } } }';
  const made = ((await (await ask(bearer(admin), JSON.stringify({ query: create }))).json()) as any).data
    .createApiKey.key as string;
  const watching = await watchToken(app.url, admin, id, 'RESULTS');
  const ticket = (
    (await (
      await ask(bearer(watching), JSON.stringify({ query: 'mutation { createWatchTicket { ticket } }' }))
    ).json()) as any
  ).data.createWatchTicket.ticket as string;
  for (const query of [
    'subscription { jobs { goneIds } }',
    '{ nonsense',
    `subscription { jobProgress(jobId: "${id}") { percent } }`,
  ])
    await (
      await fetch(`${app.url}?${new URLSearchParams({ query, ticket })}`, {
        headers: { accept: 'text/event-stream' },
      })
    ).text();
  for (const secret of [unknown, `${watching.slice(0, -1)}!`, `${admin.slice(0, -1)}!`, token]) {
    await ask(bearer(secret), JSON.stringify({ query: '{ jobs { nodes { id } } }' }));
    await ask({ authorization: secret }, '{ not json');
    const socket = connect({
      url: app.url.replace('http', 'ws'),
      webSocketImpl: WebSocket,
      retryAttempts: 0,
      connectionParams: bearer(secret),
    });
    const closed = new Promise((resolve) => socket.on('closed', resolve));
    socket.subscribe({ query: '{ __typename }' }, { next: () => {}, error: () => {}, complete: () => {} });
    await closed;
  }
  await ask(
    { 'jobtree-proxy-secret': proxySecret, 'x-forwarded-user': 'ada', 'x-forwarded-roles': 'king' },
    '{}',
  );
  await ask(bearer(admin), '{ not json');
  await ask(bearer(admin), JSON.stringify({ query: '{ nonsense }' }));
  await client.close();
  await app.close();

  expect(log).toContain('request started');
  for (const secret of [admin, unknown, made, token, proxySecret, ticket])
    expect(log.includes(secret.slice(0, 40)), secret.slice(0, 12)).toBe(false);
  expect(log.includes(watching.slice(-40))).toBe(false);
  for (const { name } of await db.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'jobtree'`,
  )) {
    const rows = JSON.stringify(await db.query(`select t::text from jobtree."${name}" t`));
    for (const key of [admin, made]) expect(rows.includes(key.slice(8, 40)), name).toBe(false);
    for (const key of [watching, ticket]) expect(rows.includes(key.slice(-30)), name).toBe(false);
  }
});
