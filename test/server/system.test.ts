/** `servers` and `findings`: which servers run, and what the doctor's checks find while a server makes them. */
import { expect, it, onTestFinished } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { Database } from '../../src/db/database.ts';
import { Examiner } from '../../src/doctor/examiner.ts';
import { Session } from '../../src/doctor/session.ts';
import { checkTransactions } from '../../src/doctor/snapshots.ts';
import { nameOfSession } from '../../src/domain/figures/servers.ts';
import { codesOf, errorsOverHttp, post } from '../support/answers.ts';
import { data, subscribe } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { freePort, startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

const { db, app } = useServer();

const servers = '{ servers { host process version transport connectedAt seenAt } }';
const findings = '{ findings { check status message since advice } }';

function examiner() {
  const database = db.open();
  const config = readConfig({ DATABASE_URL: db.url });
  const made = new Examiner({ config, database, problem: () => undefined });
  onTestFinished(async () => {
    made.close();
    await database.close();
  });
  return { examiner: made, database };
}

it('names the server that runs, and another one for as long as it runs, live', async () => {
  const [own] = (await data(app.url, servers)).servers;
  expect(own).toMatchObject({
    process: process.pid,
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    transport: 'NOTIFY',
  });
  expect(nameOfSession('notify')).toContain(own.host);
  expect(Date.parse(own.connectedAt)).toBeLessThanOrEqual(Date.parse(own.seenAt));
  const watch = subscribe(app.url, 'subscription { live { servers { host process } } }');
  const counts = async (count: number) => {
    for await (const { data } of watch) if (data.live.servers.length === count) return;
  };
  await counts(1);
  const other = await startServer(db.url);
  await counts(2);
  await other.close();
  await counts(1);
  await watch.close();
});

it('makes the checks of the command, and lists the worst first', async () => {
  const found = (await data(app.url, findings)).findings as { check: string; status: string }[];
  const checks = new Set(found.map(({ check }) => check));
  for (const check of [
    'postgres',
    'connections',
    'settings',
    'clocks',
    'migrations',
    'servers',
    'leases',
    'due',
  ])
    expect(checks).toContain(check);
  const ranks = found.map(({ status }) => ['SICK', 'WARNING', 'OK'].indexOf(status));
  expect(ranks).toEqual(ranks.toSorted());
});

it('looks once for all that ask within ten seconds', async () => {
  const { examiner: asked, database } = examiner();
  let borrowed = 0;
  const connect = database.pool.connect.bind(database.pool);
  database.pool.connect = (() => {
    borrowed++;
    return connect();
  }) as typeof connect;
  const [first, ...others] = await Promise.all(Array.from({ length: 20 }, () => asked.read()));
  const once = borrowed;
  expect(once).toBeGreaterThan(10);
  expect(others.every((other) => other === first)).toBe(true);
  expect(await asked.read()).toBe(first);
  expect(borrowed).toBe(once);
});

it('a table that is locked costs its checks their answer and nobody else', async () => {
  const lock = await db.connect();
  await lock.query('begin; lock table jobtree.callback_endpoint in access exclusive mode');
  const { examiner: asked, database } = examiner();
  const found = await asked.read();
  await lock.query('rollback');
  await lock.end();
  expect(found.filter(({ check }) => check === 'callbacks')).toEqual([
    expect.objectContaining({ status: 'warning', message: 'There was no answer in time.' }),
  ]);
  expect(found.find(({ check }) => check === 'leases')?.status).toBe('ok');
  // Its connection is as others need it.
  const { rows } = await database.pool.query('show transaction_read_only');
  expect(rows).toEqual([{ transaction_read_only: 'off' }]);
});

it('while Postgres is away it says so, and what else it knows', async () => {
  const url = `postgresql://jobtree:secret@127.0.0.1:${await freePort()}/jobtree`;
  const database = new Database({ url, poolSize: 2, timeoutMs: 1_000, onIdleError: () => {} });
  const config = readConfig({ DATABASE_URL: url.replace('127.0.0.1', 'db.example.com') });
  const problem = () => 'The certificate ends tomorrow.';
  const found = await new Examiner({ config, database, problem }).read();
  await database.close();
  expect(found.map(({ check, status }) => [check, status])).toEqual([
    ['postgres', 'sick'],
    ['server', 'warning'],
    ['encryption', 'warning'],
  ]);
  expect(JSON.stringify(found)).not.toMatch(/secret|db\.example/);
});

it('shows no statement of a forgotten session, which may contain anything', async () => {
  const forgotten = await db.connect();
  await forgotten.query(`begin; select pg_current_xact_id(); select 'top secret'`);
  const { examiner: asked } = examiner();
  const session = await db.connect();
  onTestFinished(async () => {
    await forgotten.end();
    await session.end();
  });
  const own = new Session((run) => run(session));
  await eventually(async () => {
    const messages = async (shows: boolean) =>
      (await checkTransactions(own, 1, shows)).map(({ message }) => message).join();
    expect(await messages(true)).toContain('top secret');
    expect(await messages(false)).toContain('has been in a transaction');
    expect(await messages(false)).not.toContain('top secret');
  });
  expect(JSON.stringify(await asked.read())).not.toContain('top secret');
});

it('only admins of no tenant may ask, over every way', async () => {
  const closed = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
  onTestFinished(() => closed.close());
  const admin = (await makeKey(db, ['admin'])).key;
  const ofTenant = (await makeKey(db, ['admin'], { tenant: 'acme' })).key;
  const operator = (await makeKey(db, ['operator'])).key;
  for (const query of [servers, findings]) {
    expect(await errorsOverHttp(closed.url, query, bearer(admin))).toEqual([]);
    for (const key of [ofTenant, operator])
      expect(codesOf(await errorsOverHttp(closed.url, query, bearer(key)))).toEqual(['FORBIDDEN']);
  }
  const answer = await (await post(closed.url, findings, bearer(ofTenant))).json();
  expect(answer).toMatchObject({
    data: { findings: null },
    errors: [{ message: 'findings is not allowed for callers of a tenant.' }],
  });
  const viewer = await (await post(closed.url, '{ viewer { permissions } }', bearer(ofTenant))).json();
  expect(viewer.data.viewer.permissions).not.toContain('INSPECT');
});
