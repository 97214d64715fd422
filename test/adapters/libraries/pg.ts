import pg from 'pg';
import { addItems, createJob, enqueue } from '../../../src/adapters/pg.ts';
import { insert, type Library } from '../library.ts';

export function open(url: string): Library {
  const pool = new pg.Pool({ connectionString: url });
  return {
    transaction: async (work) => {
      const client = await pool.connect();
      try {
        await client.query('begin');
        const result = await work({
          saveOrder: (id) => client.query(insert(id)),
          createJob: (...args) => createJob(client, ...args),
          enqueue: (...args) => enqueue(client, ...args),
          addItems: (...args) => addItems(client, ...args),
        });
        await client.query('commit');
        return result;
      } catch (error) {
        await client.query('rollback');
        throw error;
      } finally {
        client.release();
      }
    },
    close: () => pool.end(),
  };
}
