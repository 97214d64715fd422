/** API keys for tests, made in the database as the command does it. */
import { createApiKey, type NewApiKey } from '../../src/domain/access/api-keys.ts';
import type { Role } from '../../src/domain/access/rights.ts';
import type { TestDatabase } from './database.ts';

/** Gives the text of a new key, and its id. */
export function makeKey(
  db: TestDatabase,
  roles: readonly Role[],
  options: Partial<NewApiKey> = {},
): Promise<{ id: string; key: string }> {
  const call = <Row extends object>(name: string, ...values: readonly unknown[]) =>
    db.query<Row>(`select * from jobtree.${name}(${values.map((_, i) => `$${i + 1}`).join(', ')})`, [
      ...values,
    ]);
  return createApiKey(
    { call } as Parameters<typeof createApiKey>[0],
    { name: roles.join(), roles, ...options },
    'a test',
  );
}

export const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
