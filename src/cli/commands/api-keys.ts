/** `jobtree api-keys`: the keys of the API, in the database itself: so the first one can be made. */
import { readConfig } from '../../config/config.ts';
import type { Queries } from '../../db/database.ts';
import { migrate } from '../../db/migrate.ts';
import {
  createApiKey,
  listApiKeys as list,
  revokeApiKey,
  rotateApiKey,
} from '../../domain/access/api-keys.ts';
import type { Act } from '../../domain/access/audit.ts';
import type { Role } from '../../domain/access/rights.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { encodeGlobalId, keyOf } from '../../schema/core/global-id.ts';
import { auditCommand } from '../audit.ts';
import { CommandError } from '../command-error.ts';
import { openDatabase } from '../database.ts';
import { exitCodes } from '../exit-codes.ts';
import { print, printError, printOutcome } from '../output.ts';
import { withQueries } from '../queries.ts';
import { Table } from '../table.ts';

interface Options {
  readonly json?: true;
}

export interface CreateOptions extends Options {
  readonly role: readonly Role[];
  readonly type?: readonly string[];
  readonly tenant?: string;
  readonly tree?: readonly string[];
  readonly expires?: Date;
  readonly requestsPerSecond?: number;
  readonly costPerSecond?: number;
  readonly connections?: number;
  readonly subscriptions?: number;
  readonly storedItems?: number;
  readonly storedBytes?: number;
}

const maker = 'the command line';

export async function createKey(name: string, options: CreateOptions): Promise<number> {
  const subjects = [
    `key ${name}`,
    ...options.role.map((role) => `role ${role}`),
    ...(options.type ?? []).map((type) => `type ${type}`),
    ...(options.tree ?? []),
  ];
  const { id, key } = await withAudit(
    { action: 'createApiKey', subjects },
    (database) =>
      createApiKey(
        database,
        {
          name,
          roles: options.role,
          tenant: options.tenant,
          types: options.type,
          rootIds: options.tree?.map((tree) => keyOf('Job', tree, '--tree')),
          expiresAt: options.expires,
          limits: options,
        },
        maker,
      ),
    { create: true },
  );
  const globalId = encodeGlobalId('ApiKey', id);
  answer(options, { id: globalId, key }, key);
  // Standard output is the key alone, for `$(…)`.
  if (!options.json) printError(`The id of the key, by which you can rotate or revoke it: ${globalId}\n`);
  return exitCodes.success;
}

export async function listApiKeys(options: Options): Promise<number> {
  const keys = await withDatabase(
    async (database) => {
      const all = [];
      for (let after: string | null = null; ; ) {
        const page: Awaited<ReturnType<typeof list>> = await list(database, { after, take: 1_000 });
        all.push(...page);
        if (page.length < 1_000) return all;
        after = page.at(-1)?.id ?? null;
      }
    },
    { create: false },
  );
  const shown = keys.map((key) => ({
    ...key,
    id: encodeGlobalId('ApiKey', key.id),
    rootIds: key.rootIds.map((id) => encodeGlobalId('Job', id)),
  }));
  if (options.json) {
    for (const key of shown) print(`${JSON.stringify(key)}\n`);
    return exitCodes.success;
  }
  const rows = shown.map(
    ({ id, name, tenant, roles, types, rootIds, lastUsedAt, expiresAt, revokedAt, isOver }) => [
      id,
      name,
      tenant ?? '-',
      roles.join(','),
      [...types, ...rootIds].join(',') || 'all',
      toMinute(lastUsedAt) ?? 'never',
      revokedAt !== null
        ? 'revoked'
        : expiresAt === null
          ? 'valid'
          : `${isOver ? 'expired' : 'until'} ${toMinute(expiresAt)}`,
    ],
  );
  const titles = ['KEY', 'NAME', 'TENANT', 'ROLES', 'SCOPE', 'LAST USED', 'STATE'];
  new Table(
    titles.map((title) => ({ title })),
    'There are no API keys.',
  ).print(rows);
  return exitCodes.success;
}

export async function rotateKey(id: string, options: Options & { readonly keep?: number }): Promise<number> {
  const { key } = await withAudit({ action: 'rotateApiKey', subjects: [id] }, (database) =>
    rotateApiKey(database, keyOf('ApiKey', id, 'id'), options.keep),
  );
  return answer(options, { id, key }, key);
}

export async function revokeKey(id: string, options: Options): Promise<number> {
  const revoked = await withAudit({ action: 'revokeApiKey', subjects: [id] }, (database) =>
    revokeApiKey(database, keyOf('ApiKey', id, 'id')),
  );
  return answer(options, { id, revoked }, revoked ? 'Revoked.' : 'It was already revoked.');
}

/** `2026-11-23 02:28`, in UTC */
function toMinute(time: Date | null): string | undefined {
  return time?.toISOString().slice(0, 16).replace('T', ' ');
}

function answer({ json }: Options, outcome: object, text: string): number {
  printOutcome(json, outcome, text);
  return exitCodes.success;
}

/** For what changes something: it stands in the audit. */
function withAudit<T>(
  act: Pick<Act, 'action' | 'subjects'>,
  use: (database: Queries) => Promise<T>,
  { create = false } = {},
): Promise<T> {
  return withDatabase((database) => auditCommand(database, act, use), { create });
}

/** The database of the settings, brought up to this version if it is not. */
async function withDatabase<T>(
  use: (database: Queries) => Promise<T>,
  options: { readonly create: boolean },
): Promise<T> {
  const config = readConfig(process.env);
  const used = await openDatabase(config, options);
  // In a wrong folder, no server would know the key.
  if (used.created !== undefined)
    printError(
      `Created an embedded Postgres in ${used.created}. \`jobtree start\` uses it if you run it in this folder.\n`,
    );
  try {
    await migrate({ url: config.directDatabaseUrl ?? used.url, onApply: () => {} });
    return await withQueries(config, used.url, use);
  } catch (error) {
    if (error instanceof InvalidInputError) throw new CommandError(exitCodes.usage, error.message);
    if (error instanceof NotFoundError) throw new CommandError(exitCodes.notFound, error.message);
    throw error;
  } finally {
    await used.stop();
  }
}
