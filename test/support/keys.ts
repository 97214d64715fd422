/** API keys for tests, made in the database as the command does it. */

import { type Queries, type Statement, textOf } from '../../src/db/database.ts';
import { createApiKey, type NewApiKey } from '../../src/domain/access/api-keys.ts';
import type { Role } from '../../src/domain/access/rights.ts';
import type { TestDatabase } from './database.ts';

/** Gives the text of a new key, and its id. */
export function makeKey(
  db: TestDatabase,
  roles: readonly Role[],
  options: Partial<NewApiKey> = {},
): Promise<{ id: string; key: string }> {
  return createApiKey(statementsOf(db), { name: roles.join(), roles, ...options }, 'a test');
}

/** Executes the statements of the domain in a test's own session. */
export const statementsOf = ({ query }: TestDatabase): Pick<Queries, 'call'> => ({
  call: <Row extends object>(what: string | Statement, ...values: readonly unknown[]) =>
    query<Row>(textOf(what as Statement), [...values]),
});

export const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
