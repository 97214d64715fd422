/** A pool that others use as they use pg's own. */
import pg from 'pg';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { PatientPool } from '../../src/db/patient-pool.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await createDatabase();
});
afterAll(() => db.drop());

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
