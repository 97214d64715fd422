/** Watch tokens for tests: as the API makes them, and as others make them up. */

import type { Sees, WatchedTree } from '../../src/domain/access/rights.ts';
import { signWatchToken } from '../../src/domain/access/watch-tokens.ts';
import { ask } from './api.ts';
import type { TestDatabase } from './database.ts';

const create = `mutation ($input: CreateWatchTokenInput!) {
  createWatchToken(input: $input) { ... on CreateWatchTokenPayload { token expiresAt } ... on UserError { code field message } }
}`;

/** What a key is answered that asks for a token. */
export async function askForToken(url: string, key: string, input: object): Promise<any> {
  const { data, errors } = await ask(url, key, create, { input });
  if (errors !== undefined) throw new Error(JSON.stringify(errors));
  return data.createWatchToken;
}

export async function watchToken(
  url: string,
  key: string,
  jobId: string,
  sees: Sees = 'PROGRESS',
  expiresInSeconds = 900,
): Promise<string> {
  return (await askForToken(url, key, { jobId, sees, expiresInSeconds })).token;
}

/** With the secret of the database, and any claims. */
export async function forge(
  db: TestDatabase,
  claims: Partial<WatchedTree> & { rootId: string },
): Promise<string> {
  const [row] = await db.query<{ id: number; secret: Buffer }>(
    'select id, secret from jobtree.watch_secret order by id desc limit 1',
  );
  if (row === undefined) throw new Error('There is no secret.');
  const now = Date.now();
  return signWatchToken(row, {
    tenant: null,
    sees: 'PROGRESS',
    secretId: row.id,
    issuedMs: now,
    expiresMs: now + 60_000,
    ...claims,
  });
}
