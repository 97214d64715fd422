/** A pool that others use as they use pg's own. */
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { PatientPool } from '../../src/db/patient-pool.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();

/** Resolves with what nobody catches, which would end this process otherwise. */
function nextFault(): Promise<unknown> {
  const listeners = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  onTestFinished(() => {
    process.removeAllListeners('unhandledRejection');
    for (const listener of listeners) process.on('unhandledRejection', listener);
  });
  return new Promise((resolve) => process.once('unhandledRejection', resolve));
}

it('a throwing callback does not keep its connection', async () => {
  const pool = new PatientPool({ connectionString: db.url, max: 1, Client: pg.Client });
  onTestFinished(() => pool.end());
  const fault = nextFault();
  pool.connect(() => {
    throw new Error('a fault of its own');
  });
  expect(await fault).toMatchObject({ message: 'a fault of its own' });
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
});

it.each([
  ['JT002', true],
  ['22P02', true],
  ['23505', true],
  ['55P03', true],
  ['57014', true],
  ['25006', false],
  ['53100', false],
  ['57P01', false],
])('after the error %s its connection stays open: %s', async (code, isKept) => {
  const pool = new PatientPool({ connectionString: db.url, max: 1, Client: pg.Client });
  onTestFinished(() => pool.end());
  const pid = async () => (await pool.query('select pg_backend_pid() as pid')).rows[0].pid;
  const before = await pid();
  await expect(
    pool.query(`do $$ begin raise exception 'no' using errcode = '${code}'; end $$`),
  ).rejects.toMatchObject({ code });
  expect((await pid()) === before).toBe(isKept);
});

it('one that waits for a connection is not overtaken by newcomers whose statements are refused', async () => {
  const pool = new PatientPool({ connectionString: db.url, max: 1, Client: pg.Client });
  onTestFinished(() => pool.end());
  const refused = () =>
    pool.query(`do $$ begin raise exception 'no' using errcode = 'JT002'; end $$`).catch(() => {});
  let overtaken = -1;
  let isServed = false;
  const first = refused();
  const served = pool.query('select').then(() => {
    isServed = true;
  });
  await first;
  // Each comes as soon as the last has failed, as from those that take turns.
  for (; !isServed && overtaken < 20; overtaken++) await refused();
  await served;
  expect(overtaken).toBeLessThan(2);
});

it('a statement with a limit is ended after it, and leaves its connection without one', async () => {
  const pool = new PatientPool({ connectionString: db.url, max: 1, Client: pg.Client });
  onTestFinished(() => pool.end());
  const state = async () =>
    (await pool.query(`select pg_backend_pid() as pid, current_setting('statement_timeout') as limit`)).rows;
  const before = await state();
  await expect(pool.queryWithin(50, { text: 'select pg_sleep(60)' })).rejects.toMatchObject({
    code: '57014',
  });
  expect((await pool.queryWithin(1_000, { text: 'select 1 as one' })).rows).toEqual([{ one: 1 }]);
  expect(await state()).toEqual(before);
});
