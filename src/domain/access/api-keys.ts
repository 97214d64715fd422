/** API keys. A key is shown once, when it is created; only its hash is stored. */
import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { type Queries, type Statement, unflushed } from '../../db/database.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { checkId, checkInstant, checkInteger, checkText } from '../values/checks.ts';
import { keepPreviousMsRange, maxNameLength, maxScopeEntries } from '../values/limits.ts';
import { checkTenant } from '../values/tenants.ts';
import { roles as allRoles, type CallerLimits, noLimits, type Role } from './rights.ts';

export const keyPrefix = 'jobtree_';
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 256 bits, followed by a checksum of everything before it, so that secret scanners can recognize a key without asking the server. */
const randomLength = 43;
const checksumLength = 6;
const keyLength = keyPrefix.length + randomLength + checksumLength;
const dayMs = 86_400_000;

export interface ApiKey {
  readonly id: string;
  readonly name: string;
  /** Null for a key that belongs to no tenant. */
  readonly tenant: string | null;
  readonly roles: readonly Role[];
  /** Empty for all types. */
  readonly types: readonly string[];
  readonly rootIds: readonly string[];
  readonly createdAt: Date;
  readonly createdBy: string;
  readonly expiresAt: Date | null;
  /** Whether `expiresAt` has passed. */
  readonly isOver: boolean;
  readonly lastUsedAt: Date | null;
  readonly previousUntil: Date | null;
  readonly revokedAt: Date | null;
  /** The limits of this key; for those that are missing, the settings apply. */
  readonly limits: Partial<CallerLimits>;
}

export interface NewApiKey {
  readonly name: string;
  readonly roles: readonly Role[];
  readonly types?: readonly string[] | null | undefined;
  readonly rootIds?: readonly string[] | null | undefined;
  readonly expiresAt?: Date | null | undefined;
  /** The tenant that callers with this key, and its `types`, belong to. None by default. */
  readonly tenant?: string | null | undefined;
  readonly limits?: { readonly [Name in keyof CallerLimits]?: number | null | undefined } | null | undefined;
}

type Calls = Pick<Queries, 'call'>;

/** Postgres has the clock: an end that is over makes no key. */
const insertKey: Statement = {
  name: 'create_api_key',
  text: `insert into jobtree.api_key (id, name, hash, roles, types, root_ids, created_at, created_by, expires_at, tenant, limits)
    select gen_random_uuid(), $1, $2, $3, $4, $5, clock_timestamp(), $7, $6::timestamptz, $8, $9
    where $6 is null or $6 > clock_timestamp()
    returning id`,
};

/** The answer is the only place where the key appears. */
export async function createApiKey(
  database: Calls,
  key: NewApiKey,
  createdBy: string,
): Promise<{ id: string; key: string }> {
  for (const field of ['types', 'rootIds'] as const)
    if (key[field]?.length === 0)
      throw new InvalidInputError(`${field} is empty; leave it out for a key without this scope.`, field);
  const text = newKey();
  const roles = checkRoles(key.roles);
  if (roles.includes('admin') && (key.types != null || key.rootIds != null))
    throw new InvalidInputError("A key with the role admin can't be limited to types or trees.", 'roles');
  const [row] = await database.call<{ id: string }>(
    insertKey,
    checkText(key.name, 'name', maxNameLength),
    hashOf(text),
    roles,
    checkTypePatterns(key.types ?? []),
    checkRootIds(key.rootIds ?? []),
    key.expiresAt == null ? null : checkInstant(key.expiresAt, 'expiresAt'),
    createdBy,
    key.tenant == null ? null : checkTenant(key.tenant),
    JSON.stringify(checkLimits(key.limits ?? {})),
  );
  if (row === undefined) throw new InvalidInputError('expiresAt has already passed.', 'expiresAt');
  return { id: row.id, key: text };
}

const rotateKey: Statement = {
  name: 'rotate_api_key',
  text: `update jobtree.api_key k
    set hash = $2, previous_hash = k.hash, previous_until = clock_timestamp() + $3 * interval '1 millisecond'
    where k.id = $1 and k.revoked_at is null and ($4::text is null or k.tenant = $4)
    returning k.id`,
};

/** The previous key stays valid for `keepPreviousMs`. Affects only a key of `tenant`, unless that is null. */
export async function rotateApiKey(
  database: Calls,
  id: string,
  keepPreviousMs: number = dayMs,
  tenant: string | null = null,
): Promise<{ key: string }> {
  const text = newKey();
  const keepMs = checkInteger(keepPreviousMs, 'keepPreviousMs', ...keepPreviousMsRange);
  const [row] = await database.call(rotateKey, id, hashOf(text), keepMs, tenant);
  if (row === undefined) throw new NotFoundError('There is no such key, or it is revoked.', 'id');
  return { key: text };
}

/** Servers notice within seconds: `checkKeys`. */
const revokeKey: Statement = {
  name: 'revoke_api_key',
  first: `known as (
    select k.id, k.revoked_at from jobtree.api_key k where k.id = $1 and ($2::text is null or k.tenant = $2) for update
  )`,
  text: `update jobtree.api_key k set revoked_at = coalesce(o.revoked_at, clock_timestamp())
    from known o where k.id = o.id
    returning o.revoked_at is null as revoked`,
};

/** Returns false if the key was revoked before. Affects only a key of `tenant`, unless that is null. */
export async function revokeApiKey(
  database: Calls,
  id: string,
  tenant: string | null = null,
): Promise<boolean> {
  const [row] = await database.call<{ revoked: boolean }>(revokeKey, id, tenant);
  if (row === undefined) throw new NotFoundError('There is no such key.', 'id');
  return row.revoked;
}

/**
 * Looks up hashes of keys, and stores when the keys with the ids of the second list were last used, at most once a minute for each. Rows that
 * are locked wait for a later call, and the commit does not wait for the disk. Returns the valid keys; `left_ms` is for how long the hash
 * remains valid, null if there is no limit.
 */
export const checkKeys: Statement = {
  name: 'check_api_keys',
  first: `used as (
    update jobtree.api_key k set last_used_at = clock_timestamp()
    where k.id = any (array(
      select u.id from jobtree.api_key u
      where u.id = any ($2::uuid[]) and ${unflushed} and (u.last_used_at is null or u.last_used_at < clock_timestamp() - interval '1 minute')
      for update skip locked
    ))
  )`,
  text: `select h.hash, k.id, k.name, k.roles, k.types, k.root_ids, k.tenant, k.limits,
      ceil(extract(epoch from least(k.expires_at, k.until) - clock_timestamp()) * 1000)::bigint as left_ms
    from unnest($1::bytea[]) h(hash)
    cross join lateral (
      select c.id, c.name, c.roles, c.types, c.root_ids, c.tenant, c.limits, c.revoked_at, c.expires_at, null::timestamptz as until
      from jobtree.api_key c where c.hash = h.hash
      union all
      select c.id, c.name, c.roles, c.types, c.root_ids, c.tenant, c.limits, c.revoked_at, c.expires_at, c.previous_until
      from jobtree.api_key c where c.previous_hash = h.hash and c.hash <> h.hash and c.previous_until > clock_timestamp()
    ) k
    where k.revoked_at is null and (k.expires_at is null or k.expires_at > clock_timestamp())`,
};

const columns = `id, name, tenant, roles, types, root_ids as "rootIds", created_at as "createdAt", created_by as "createdBy",
  expires_at as "expiresAt", coalesce(expires_at <= now(), false) as "isOver", last_used_at as "lastUsedAt", revoked_at as "revokedAt", limits,
  case when previous_until > now() then previous_until end as "previousUntil"`;

/** Lists keys by name, starting after the key with the id `after`, including revoked ones. Only keys of `tenant`, unless that is null. */
export async function listApiKeys(
  database: { readonly pool: Pick<Queries['pool'], 'query'> },
  { tenant = null, after, take }: { tenant?: string | null; after: string | null; take: number },
): Promise<ApiKey[]> {
  const { rows } = await database.pool.query<ApiKey>({
    name: `list_api_keys/${tenant === null ? 'all' : 'tenant'}`,
    text: `select ${columns} from jobtree.api_key k
           where ${tenant === null ? 'true' : 'k.tenant = $3'} and ($1::uuid is null or (k.name, k.id) > (
             select a.name, a.id from jobtree.api_key a where a.id = $1 and ${tenant === null ? 'true' : 'a.tenant = $3'}
           ))
           order by k.name, k.id limit $2`,
    values: tenant === null ? [after, take] : [after, take, tenant],
  });
  return rows;
}

export async function findApiKey(
  database: { readonly pool: Pick<Queries['pool'], 'query'> },
  id: string,
): Promise<ApiKey | undefined> {
  const { rows } = await database.pool.query<ApiKey>({
    name: 'find_api_key',
    text: `select ${columns} from jobtree.api_key where id = $1`,
    values: [id],
  });
  return rows[0];
}

export function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** Whether a text has the form and the checksum of a key. A truncated or mistyped key is recognized without a look-up. */
export function isKeyText(text: string): boolean {
  if (text.length !== keyLength || !text.startsWith(keyPrefix)) return false;
  const body = text.slice(0, -checksumLength);
  return text.slice(-checksumLength) === checksumOf(body);
}

function newKey(): string {
  const body = keyPrefix + toDigits(BigInt(`0x${randomBytes(32).toString('hex')}`), randomLength);
  return body + checksumOf(body);
}

function checksumOf(body: string): string {
  return toDigits(BigInt(crc32(body)), checksumLength);
}

function toDigits(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n) text = digits[Number(rest % 62n)] + text;
  return text;
}

export function checkRoles(names: readonly string[]): Role[] {
  const unknown = names.find((name) => !allRoles.includes(name as Role));
  if (unknown !== undefined)
    throw new InvalidInputError(
      `There is no role ${JSON.stringify(unknown.slice(0, 80))}; there are ${allRoles.join(', ')}.`,
      'roles',
    );
  if (names.length === 0) throw new InvalidInputError('roles is empty.', 'roles');
  return [...new Set(names as readonly Role[])];
}

const maxLimit = 1_000_000_000;
/** The highest limit of stored items and bytes. */
const maxStored = 1_000_000_000_000_000;

function checkLimits(limits: NonNullable<NewApiKey['limits']>): Partial<CallerLimits> {
  const names = Object.keys(noLimits) as (keyof CallerLimits)[];
  const given = names.flatMap((name) => {
    const limit = limits[name];
    return limit == null
      ? []
      : [[name, checkInteger(limit, `limits.${name}`, 1, name.startsWith('stored') ? maxStored : maxLimit)]];
  });
  return Object.fromEntries(given);
}

export function checkTypePatterns(patterns: readonly string[]): string[] {
  checkCount(patterns, 'types');
  for (const [i, pattern] of patterns.entries()) {
    checkText(pattern, `types[${i}]`, maxNameLength);
    if (pattern.slice(0, -1).includes('*'))
      throw new InvalidInputError(`types[${i}] has a * that is not at its end.`, `types[${i}]`);
  }
  return [...new Set(patterns)];
}

export function checkRootIds(rootIds: readonly string[]): string[] {
  checkCount(rootIds, 'rootIds');
  return [...new Set(rootIds.map((id, i) => checkId(id, 'a job', `rootIds[${i}]`)))];
}

function checkCount(values: readonly string[], field: string): void {
  if (values.length > maxScopeEntries)
    throw new InvalidInputError(
      `${field} has ${values.length} entries; the limit is ${maxScopeEntries}.`,
      field,
    );
}
