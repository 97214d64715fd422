import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { addItems, createJob, enqueue } from '../../../src/adapters/kysely.ts';
import { insert, type Library } from '../library.ts';

export function open(url: string): Library {
  const db = new Kysely<object>({
    dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }),
  });
  return {
    transaction: (work) =>
      db.transaction().execute((tx) =>
        work({
          saveOrder: (id) => sql.raw(insert(id)).execute(tx),
          createJob: (...args) => createJob(tx, ...args),
          enqueue: (...args) => enqueue(tx, ...args),
          addItems: (...args) => addItems(tx, ...args),
        }),
      ),
    close: () => db.destroy(),
  };
}
