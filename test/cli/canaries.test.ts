/**
 * Secrets and payloads are where they belong, and nowhere else: a server as a process of its own, at its most talkative, gets a secret of every kind, is
 * used, refused and failed, and everything that it says and leaves is searched.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient as connect } from 'graphql-ws';
import { Redis } from 'ioredis';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { createClient, type HandlerContext, PermanentError, Worker } from '../../src/client/index.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { freePort } from '../support/ports.ts';
import { startReceiver } from '../support/receiver.ts';
import { findRedis, startRedis } from '../support/redis.ts';
import { cli } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';
import { run } from './program.ts';

const planted = (what: string) => `${what}${randomBytes(12).toString('hex')}`;
const db = useDatabase();
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'jobtree-canaries-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
});

/** Everything below a folder. */
function filesBelow(path: string): string[] {
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .map((name) => join(path, name))
    .filter((name) => statSync(name).isFile());
}

it('no log line, error, metric, process list or file of a traced run contains a secret or a payload', async () => {
  const told: string[] = [];
  // A login of its own, whose password nothing else has.
  const password = planted('pgpassword');
  const role = `canary_${randomBytes(4).toString('hex')}`;
  await db.query(`create role ${role} superuser login password '${password}'`);
  const databaseUrl = new URL(db.url);
  databaseUrl.username = role;
  databaseUrl.password = password;
  const redisPassword = planted('redispassword');
  const redis =
    findRedis() === undefined
      ? undefined
      : await startRedis(['--requirepass', redisPassword], { password: redisPassword });
  // What servers tell one another.
  const monitored = redis && new Redis(redis.url, { password: redisPassword });
  const monitor = await monitored?.monitor();
  monitor?.on('monitor', (_, args: string[]) => told.push(args.join(' ')));
  const hookPath = `/500?hook=${planted('hook')}`;
  const receiver = await startReceiver({
    [hookPath]: (response) => response.writeHead(500).end('no'),
  });
  const port = String(await freePort());
  const env = {
    DATABASE_URL: databaseUrl.href,
    ...(redis && { REDIS_URL: redis.url.replace('://', `://:${redisPassword}@`) }),
    JOBTREE_PORT: port,
    JOBTREE_LOG_LEVEL: 'trace',
    JOBTREE_METRICS: 'true',
    JOBTREE_AUTH: 'keys,jwt,proxy',
    JOBTREE_JWT_ISSUER: 'https://issuer.example',
    JOBTREE_JWT_AUDIENCE: 'jobtree',
    // Nobody listens at these, so that what fails is logged, too.
    JOBTREE_JWT_JWKS_URL: 'http://127.0.0.1:9/keys',
    JOBTREE_UPLOAD_STORE_URL: 's3://canaries/x',
    JOBTREE_UPLOAD_STORE_ENDPOINT: 'http://127.0.0.1:9',
    AWS_ACCESS_KEY_ID: planted('s3id'),
    AWS_SECRET_ACCESS_KEY: planted('s3secret'),
    JOBTREE_PROXY_SECRET: planted('proxysecret'),
    JOBTREE_SECRETS_KEY: randomBytes(32).toString('base64'),
    JOBTREE_CALLBACK_NETWORKS: '127.0.0.0/8',
  };
  const child = spawn(process.execPath, [cli, 'start'], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
  await expect.poll(() => said, { timeout: 60_000 }).toContain('"msg":"ready"');
  const url = `http://127.0.0.1:${port}/graphql`;

  const ask = async (headers: Record<string, string>, body: string, path = url) => {
    const response = await fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    }).catch(() => undefined);
    const text = (await response?.text()) ?? '';
    if (!text.includes('whsec_') && !text.includes('"key":')) told.push(text);
    return text;
  };
  const admin = (await makeKey(db, ['admin'])).key;
  const made = JSON.parse(
    await ask(
      bearer(admin),
      '{"query":"mutation { createApiKey(input: { name: \\"made\\", roles: [WORKER] }) { ... on CreateApiKeyPayload { key } } }"}',
    ),
  ).data.createApiKey.key as string;
  const token = await new SignJWT({ sub: 'ada' })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1h')
    .sign(randomBytes(32));
  const wrongKey = `${admin.slice(0, -1)}!`;

  const client = createClient({ url, token: admin });
  const endpoint = await client.callbacks.putEndpoint({
    name: 'ops',
    url: `http://127.0.0.1:${receiver.port}${hookPath}`,
  });
  const rotated = await client.callbacks.rotateSecret('ops');
  const [payload, result, failed] = [planted('payload'), planted('result'), planted('failed')];
  const [note, line] = [planted('note'), planted('line')];
  const { id } = await client.createJob({
    type: 'canary',
    items: [{ payload: { card: payload } }, { payload: { card: failed } }],
    sealed: true,
    callbacks: [{ endpoint: 'ops' }],
  });
  const { token: watchToken } = await client.createWatchToken(id, { sees: 'RESULTS' });
  const worker = new Worker({
    client,

    types: {
      canary: {
        concurrency: 1,
        handler: async ({ card }: { card: string }, context: HandlerContext) => {
          context.note(note);
          context.log(line);
          if (card === failed) throw new PermanentError('no', { code: 'BAD' });
          return { got: result };
        },
      },
    },
  } as never);
  await worker.start();
  for await (const progress of client.watchJob(id)) if (progress.status === 'COMPLETED') break;
  await worker.stop();
  await expect.poll(() => said, { timeout: 20_000 }).toContain('a callback was not delivered');
  for (const { text, headers } of receiver.received) told.push(text, JSON.stringify(headers));
  expect((await client.items(id)).nodes.map((item) => JSON.stringify(item)).join()).toContain(payload);
  await client
    .upload(new Blob([payload]), { name: 'x.csv' } as never)
    .catch((error) => told.push(String(error)));
  await client.close();

  const create = (value: string) =>
    JSON.stringify({
      query:
        'mutation ($p: JSON!) { createJob(input: { type: "", items: [{ payload: $p }] }) { __typename } }',
      variables: { p: value },
    });
  await ask(bearer(admin), create(payload));
  await ask(bearer(admin), `{"query":"{ jobs","variables":{"x":"${payload}"}`);
  await ask(bearer(admin), '{"query":"mutation { revokeApiKey(input: { id: \\"x\\" }) { __typename } }"}');
  // A ticket stands in the address of a stream: one that is good, the same once more, and one that is none.
  const madeTicket = await ask(bearer(watchToken), '{"query":"mutation { createWatchTicket { ticket } }"}');
  const ticket = JSON.parse(madeTicket).data.createWatchTicket.ticket as string;
  told.splice(told.indexOf(madeTicket), 1);
  const wrongTicket = `${ticket.slice(0, -20)}${planted('').slice(0, 20)}`;
  for (const shown of [ticket, ticket, wrongTicket]) {
    const query = `subscription { jobProgress(jobId: "${id}") { percent } }`;
    const address = `${url}?${new URLSearchParams({ query, ticket: shown })}`;
    told.push(await (await fetch(address, { headers: { accept: 'text/event-stream' } })).text());
  }
  for (const secret of [wrongKey, token, made, watchToken, `${watchToken.slice(0, -1)}!`]) {
    await ask(bearer(secret), '{"query":"{ jobs { nodes { id } } }"}');
    await ask({ authorization: secret }, '{ not json');
    await ask(bearer(secret), 'x', `http://127.0.0.1:${port}/api/uploads`);
    const socket = connect({
      url: url.replace('http', 'ws'),
      webSocketImpl: WebSocket,
      retryAttempts: 0,
      connectionParams: bearer(secret),
    });
    const closed = new Promise((resolve) =>
      socket.on('closed', (event) => {
        told.push(String((event as { reason?: unknown }).reason));
        resolve(event);
      }),
    );
    socket.subscribe(
      { query: '{ nonsense }' },
      { next: () => {}, error: () => void socket.dispose(), complete: () => {} },
    );
    await closed;
  }
  const asProxy = { 'jobtree-proxy-secret': env.JOBTREE_PROXY_SECRET, 'x-forwarded-user': 'ada' };
  await ask({ ...asProxy, 'x-forwarded-roles': 'king' }, '{}');
  await ask({ ...asProxy, 'x-forwarded-roles': 'watcher' }, '{"query":"{ jobs { nodes { id } } }"}');
  const metrics = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: bearer(admin) });
  told.push(await metrics.text(), await (await fetch(`http://127.0.0.1:${port}/readyz`)).text());

  await ask(
    bearer(admin),
    `{"query":"mutation { revokeWatchTokens(input: { jobId: \\"${id}\\" }) { __typename } }"}`,
  );
  await ask(bearer(watchToken), '{"query":"{ __typename }"}');

  // What other users of the machine see of it, and of a command.
  told.push(readFileSync(`/proc/${child.pid}/cmdline`, 'utf8'));
  for (const args of [
    ['doctor', '--url', url],
    ['api-keys', 'list'],
    ['audit', '--url', url],
  ])
    for (const one of [await run(args, { env: { ...env, JOBTREE_TOKEN: admin } })])
      told.push(one.stdout, one.stderr);
  // Settings that can't be used are named, and not quoted.
  const spoilt = {
    DATABASE_URL: `mysql://u:${password}@h`,
    REDIS_URL: `redis://:${redisPassword}@h/%`,
    JOBTREE_SECRETS_KEY: `x${env.JOBTREE_SECRETS_KEY}`,
  };
  const refused = await run(['start'], { env: { ...env, ...spoilt } });
  expect(refused.code).toBe(2);
  told.push(refused.stderr, refused.stdout);

  // Its Postgres and Redis go, and what waits for them fails.
  monitored?.disconnect();
  monitor?.disconnect();
  await redis?.kill();
  await db.query(`alter role ${role} password 'another'`);
  await db.query(`select pg_terminate_backend(pid) from pg_stat_activity where usename = $1`, [role]);
  await ask(bearer(admin), '{"query":"{ jobs { nodes { id } } }"}');
  await expect.poll(() => said, { timeout: 20_000 }).toContain('password authentication failed');
  child.kill('SIGTERM');
  await once(child, 'exit');
  await redis?.stop();
  await receiver.close();
  for (const file of filesBelow(folder)) told.push(readFileSync(file, 'utf8'));
  await db.query(`drop role ${role}`);
  // What callers show is nowhere in the database, nor are secrets that are sealed.
  const tables = await db.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'jobtree' and table_type = 'BASE TABLE'`,
  );
  const rows: string[] = [];
  for (const { name } of tables)
    for (const { text } of await db.query<{ text: string }>(`select t::text as text from jobtree.${name} t`))
      rows.push(`${name}: ${text}`);
  expect(rows.join('\n')).toContain(note);

  /** These stand in no table either. */
  const shown: Record<string, string> = {
    'the password of Postgres': password,
    'the password of Redis': redisPassword,
    'the id of the key of the store': env.AWS_ACCESS_KEY_ID,
    'the key of the store': env.AWS_SECRET_ACCESS_KEY,
    'the secret of the proxy': env.JOBTREE_PROXY_SECRET,
    'the key of secrets': env.JOBTREE_SECRETS_KEY.slice(0, 40),
    'a key': admin.slice(8, 40),
    'a key that was made': made.slice(8, 40),
    'a token': token.slice(-30),
    'a secret of an endpoint': (endpoint.secret ?? '').slice(6, 40),
    'its next secret': rotated.secret.slice(6, 40),
    'a watch token': watchToken.slice(-30),
    'a ticket': ticket.slice(-20),
  };
  const secrets: Record<string, string> = {
    ...shown,
    'the address of an endpoint': hookPath.slice(-24),
    'a payload': payload,
    'a payload that failed': failed,
    'a result': result,
    'a note': note,
    'a line of a log': line,
  };
  expect(said).toContain('request started');
  expect(said).toContain('"msg":"audit"');
  for (const [name, secret] of Object.entries(secrets)) {
    expect(secret.length, name).toBeGreaterThan(15);
    const lines = said.split('\n').filter((line) => line.includes(secret));
    expect(lines, `${name} in the log`).toEqual([]);
    expect(
      told.filter((text) => text.includes(secret)),
      `${name} in what it told`,
    ).toEqual([]);
  }
  for (const [name, secret] of Object.entries(shown)) {
    expect(
      rows.filter((text) => text.includes(secret) || text.includes(Buffer.from(secret).toString('hex'))),
      `${name} in a table`,
    ).toEqual([]);
  }
});

it('the search finds a secret that is leaked on purpose', () => {
  writeFileSync(join(folder, 'left'), 'canary');
  expect(filesBelow(folder).some((file) => readFileSync(file, 'utf8').includes('canary'))).toBe(true);
});
