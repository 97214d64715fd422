/** As whom hostile requests come: as a stranger, and as callers with each role, narrow ones too. */
import type { TestDatabase } from '../database.ts';
import { makeKey } from '../keys.ts';
import { watchToken } from '../watch-tokens.ts';

/** Whether all of it is run, which takes long. */
export const isLong = process.env.HOSTILE === 'long';
const only = new RegExp(process.env.HOSTILE_ROLES ?? '');

export const roleNames = [
  'admin',
  'stranger',
  'producer',
  'worker',
  'watcher',
  'key for a type',
  'admin of a tenant',
  'watch token',
] as const;
export type RoleName = (typeof roleNames)[number];

/** What each shows; nothing for a stranger. */
export type Tokens = Readonly<Record<RoleName, string | undefined>>;

/** The watch token shows the results of a tree; the key for a type has that of its root. */
export async function makeTokens(
  db: TestDatabase,
  url: string,
  tree: { readonly id: string; readonly type: string },
): Promise<Tokens> {
  const keyOf = async (
    ...given: Parameters<typeof makeKey> extends [unknown, ...infer Rest] ? Rest : never
  ) => (await makeKey(db, ...given)).key;
  const admin = await keyOf(['admin']);
  return {
    admin,
    stranger: undefined,
    producer: await keyOf(['producer']),
    worker: await keyOf(['worker']),
    watcher: await keyOf(['watcher']),
    'key for a type': await keyOf(['producer', 'worker'], { types: [tree.type] }),
    'admin of a tenant': await keyOf(['admin'], { tenant: 'hostile' }),
    'watch token': await watchToken(url, admin, tree.id, 'RESULTS', 86_400),
  };
}

/** An admin and, by turns, one of the others; all of them in the long form, or where it takes no time. */
export function rolesInTurn(turn: number, { all = isLong } = {}): readonly RoleName[] {
  const [admin, ...others] = roleNames;
  const roles = all ? roleNames : [admin, others[turn % others.length] as RoleName];
  return roles.filter((role) => only.test(role));
}

/** What those are told who may not ask for it, or for whom it does not exist. */
export const notTheirs = /"(UNAUTHENTICATED|FORBIDDEN|NOT_FOUND)"|There is no |closed with 4403/;
