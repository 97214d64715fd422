import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { transactionOf } from '../drizzle-transaction.ts';
import type { Library } from '../library.ts';

export function open(url: string): Library {
  const pool = new pg.Pool({ connectionString: url });
  return { transaction: transactionOf(drizzle(pool)), close: () => pool.end() };
}
