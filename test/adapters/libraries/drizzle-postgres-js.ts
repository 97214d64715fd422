import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { transactionOf } from '../drizzle-transaction.ts';
import type { Library } from '../library.ts';

export function open(url: string): Library {
  const client = postgres(url);
  return { transaction: transactionOf(drizzle(client)), close: () => client.end() };
}
