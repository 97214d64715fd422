/** What a load balancer is told, and what the log says, while Postgres is in trouble. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { startEmbeddedPostgres } from '../../src/embedded/start.ts';
import { start } from '../cli/program.ts';
import { createJob, request } from '../support/api.ts';
import { startProxy } from '../support/proxy.ts';
import { freePort, startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();

const create = 'mutation { createJob(input: { type: "a", items: [{}] }) { __typename } }';
const ready = async (url: string) => {
  const answer = await fetch(new URL('/readyz', url));
  return `${answer.status} ${(await answer.text()).trim()}`;
};
const name = () => new URL(db.url).pathname.slice(1);
const endSessions = () =>
  db.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name like 'jobtree%'`,
  );

it('a server is not ready while its Postgres is read-only, and refused operations may be repeated', async () => {
  const app = await startServer(db.url, { JOBTREE_SWEEP_INTERVAL_MS: '100' });
  onTestFinished(() => app.close());
  expect(await ready(app.url)).toMatch(/^200 ok/);
  await db.query(`alter database ${name()} set default_transaction_read_only = on`);
  await endSessions();
  await expect.poll(() => ready(app.url)).toContain('503 the database accepts no writes');
  await expect
    .poll(async () => (await request(app.url, create)).errors?.[0]?.extensions)
    .toEqual({ code: 'UNAVAILABLE' });

  const session = await db.connect();
  await session.query('set session characteristics as transaction read write');
  await session.query(`alter database ${name()} reset default_transaction_read_only`);
  await session.end();
  await endSessions();
  await expect.poll(() => ready(app.url)).toMatch(/^200 ok/);
  expect((await request(app.url, create)).errors).toBeUndefined();
});

it('a server is not ready while its Postgres starts, recovers or stops, and answers that it does', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'jobtree-health-'));
  const postgres = await startEmbeddedPostgres({ dataDirectory: folder });
  onTestFinished(async () => {
    await postgres.stop();
    await rm(postgres.dataDirectory, { recursive: true, force: true });
  });
  const app = await startServer(postgres.url);
  onTestFinished(() => app.close());
  expect(await ready(app.url)).toMatch(/^200 ok/);

  // A smart shutdown lets sessions end, and tells new ones what it tells them during a start.
  const session = new pg.Client({ connectionString: postgres.url });
  await session.connect();
  const [pid] = (await readFile(join(postgres.dataDirectory, 'postgres', 'postmaster.pid'), 'utf8')).split(
    '\n',
  );
  process.kill(Number(pid), 'SIGTERM');
  const newcomer = async () => {
    const client = new pg.Client({ connectionString: postgres.url });
    client.on('error', () => {});
    const refusal = await client.connect().then(
      () => undefined,
      ({ code }) => code,
    );
    if (refusal === undefined) await client.end();
    return refusal;
  };
  await expect.poll(newcomer).toBe('57P03');
  await session.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );
  expect(await ready(app.url)).toBe('503 the database is starting, recovering or stopping');
  await session.end();
});

it('a server is not ready while the disk of its Postgres is full, and is again afterwards', async () => {
  const app = await startServer(db.url);
  onTestFinished(() => app.close());
  const id = await createJob(app.url, { type: 'full' });
  await db.query(
    `create function fill() returns trigger language plpgsql as $$ begin raise exception 'no space left' using errcode = '53100'; end $$`,
  );
  await db.query(
    'create trigger fill before insert on jobtree.job_item for each row execute function fill()',
  );
  const add = 'mutation ($id: ID!) { addItems(input: { jobId: $id, items: [{}] }) { __typename } }';
  expect((await request(app.url, add, { id })).errors).toMatchObject([
    { extensions: { code: 'UNAVAILABLE' } },
  ]);
  expect(await ready(app.url)).toBe('503 the database accepts no writes: its disk is full');
  await db.query('drop function fill cascade');
  await expect.poll(() => ready(app.url), { interval: 500 }).toMatch(/^200 ok/);
  expect((await request(app.url, add, { id })).errors).toBeUndefined();
});

it('an outage is logged once for each kind of failure', async () => {
  const proxy = await startProxy(db.url);
  onTestFinished(() => proxy.close());
  const port = String(await freePort());
  const program = start(['start'], {
    DATABASE_URL: proxy.url,
    JOBTREE_PORT: port,
    JOBTREE_SWEEP_INTERVAL_MS: '100',
  });
  await program.printed('"msg":"ready"');
  const url = `http://127.0.0.1:${port}/graphql`;
  proxy.cut();
  const codes = new Set<unknown>();
  const until = performance.now() + 3_000;
  while (performance.now() < until) {
    const answers = await Promise.all(
      Array.from({ length: 10 }, () =>
        Promise.all([request(url, create), request(url, '{ jobs(first: 1) { nodes { id } } }')]),
      ),
    );
    for (const answer of answers.flat()) codes.add(answer.errors?.[0]?.extensions?.code);
    expect(await ready(url)).toBe('503 the database does not answer');
  }
  // Never INTERNAL: each says whether it may have been carried out.
  codes.delete('OUTCOME_UNKNOWN');
  expect([...codes]).toEqual(['UNAVAILABLE']);
  proxy.mend();
  await expect.poll(() => ready(url)).toMatch(/^200 ok/);
  expect((await request(url, create)).errors).toBeUndefined();
  program.process.kill('SIGTERM');
  const { code, stderr } = await program.ended;
  expect(code).toBe(0);
  const warnings = stderr.split('\n').filter((line) => /"level":(40|50|60)/.test(line));
  expect(warnings.length).toBeGreaterThan(0);
  expect(warnings.length, warnings.join('\n')).toBeLessThan(30);
});

it('connections are not kept while a server waits for its shutdown', async () => {
  const app = await startServer(db.url, { JOBTREE_SHUTDOWN_DELAY_MS: '1000' });
  const answer = async () =>
    (
      await fetch(app.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"query":"{ __typename }"}',
      })
    ).headers.get('connection');
  expect(await answer()).toBe('keep-alive');
  const closing = app.close();
  expect(await ready(app.url)).toBe('503 shutting down');
  expect(await answer()).toBe('close');
  await closing;
});
