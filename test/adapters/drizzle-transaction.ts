import { sql } from 'drizzle-orm';
import { addItems, createJob, type DrizzleTransaction, enqueue } from '../../src/adapters/drizzle.ts';
import { insert, type Library } from './library.ts';

interface DrizzleDatabase {
  transaction<T>(work: (tx: DrizzleTransaction) => Promise<T>): Promise<T>;
}

export function transactionOf(db: DrizzleDatabase): Library['transaction'] {
  return (work) =>
    db.transaction((tx) =>
      work({
        saveOrder: async (id) => tx.execute(sql.raw(insert(id))),
        createJob: (...args) => createJob(tx, ...args),
        enqueue: (...args) => enqueue(tx, ...args),
        addItems: (...args) => addItems(tx, ...args),
      }),
    );
}
