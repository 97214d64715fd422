/**
 * Who may do what. A caller may belong to a tenant, and then nothing else exists for it (`tenants.ts`). It has roles, which give
 * it permissions, and perhaps a scope, which narrows them to types of jobs, or to trees. What it may not see does not exist for
 * it: it gets NOT_FOUND, and lists leave it out.
 *
 * The caller is one value, created when a request, a socket or a stream comes in, and passed down with its operations.
 */
import type { Owner } from '../../concurrency/fair-queue.ts';
import { beginningOf, tenantOf } from '../values/tenants.ts';

export const roles = ['admin', 'operator', 'producer', 'worker', 'watcher'] as const;
export type Role = (typeof roles)[number];

export const roleMeanings: Readonly<Record<Role, string>> = {
  admin: "May do everything, within its tenant if it has one. Can't have a scope.",
  operator:
    'Replays and discards dead letters, notes what they mean, cancels and promotes items; reads jobs, items, queues and figures.',
  producer:
    'Creates jobs and adds items; changes, cancels and deletes them; reads jobs, items, queues and figures.',
  worker: 'Claims items and reports on them. Reads only the items that it holds.',
  watcher: 'Reads jobs, items, queues and figures; changes nothing.',
};

interface Grant {
  /** For the documentation of security. */
  readonly meaning: string;
  readonly roles: readonly Role[];
  /** The kinds of scope with which a caller keeps the permission, narrowed to the scope. With any other kind it does not have it. */
  readonly scopes: readonly ('types' | 'roots')[];
  /** Whether callers of a tenant never have it. Default: they may. */
  readonly isWithoutTenant?: boolean;
}

const seers: readonly Role[] = ['admin', 'operator', 'producer', 'watcher'];
const makers: readonly Role[] = ['admin', 'producer'];

/** The permissions that fields of the API require; each field names its own. */
export const permissions = {
  call: { meaning: 'objects by their ids, and who one is', roles, scopes: ['types', 'roots'] },
  read: { meaning: 'one job, with its tree and items', roles: seers, scopes: ['types', 'roots'] },
  list: { meaning: 'lists and figures by type', roles: seers, scopes: ['types'] },
  survey: { meaning: 'queries about jobs of all types', roles: seers, scopes: [] },
  create: { meaning: 'new jobs', roles: makers, scopes: ['types'] },
  change: { meaning: 'changes to one job', roles: makers, scopes: ['types', 'roots'] },
  sweep: {
    meaning: 'changes to all pending items that match a filter',
    roles: ['admin', 'operator', 'producer'],
    scopes: ['types'],
  },
  clear: {
    meaning: 'the cancellation or deletion of all trees that match a filter',
    roles: makers,
    scopes: ['types'],
  },
  settle: { meaning: 'what becomes of dead letters', roles: ['admin', 'operator'], scopes: ['types'] },
  work: { meaning: 'claims and reports', roles: ['admin', 'worker'], scopes: ['types'] },
  administer: {
    meaning: 'settings, keys, schedules and callbacks',
    roles: ['admin'],
    scopes: [],
  },
  inspect: {
    meaning: 'the servers and their health, which belong to no tenant',
    roles: ['admin'],
    scopes: [],
    isWithoutTenant: true,
  },
  share: { meaning: 'watch tokens for one tree', roles: seers, scopes: ['types', 'roots'] },
  stream: { meaning: 'tickets for event streams, for watch tokens', roles: [], scopes: ['roots'] },
} as const satisfies Readonly<Record<string, Grant>>;
export type Permission = keyof typeof permissions;

/** What a caller sees; null where nothing restricts it. */
export interface Scope {
  /**
   * Types of jobs, including the tenant's prefix: each a name, or a prefix of names followed by `*`, which does not stand for
   * names with `//` unless the prefix has one.
   */
  readonly types: readonly string[] | null;
  /** Trees, by the ids of their roots. */
  readonly rootIds: readonly string[] | null;
}

/** How much of its tree a watch token shows; each level includes those before it. Fields name the level that they require (`seenBy`). */
export const seen = ['PROGRESS', 'ITEMS', 'RESULTS'] as const;
export type Sees = (typeof seen)[number];

export const isSees = (value: unknown): value is Sees => seen.includes(value as Sees);

/** Whether a token with `sees` may see what requires `of`. */
export const showsAll = (sees: Sees, of: Sees) => seen.indexOf(sees) >= seen.indexOf(of);

/** The tree that a watch token opens, and how long it is valid, by the clock of Postgres. */
export interface WatchedTree {
  readonly rootId: string;
  /** The tenant of whoever created it, which determines how names are shown. */
  readonly tenant: string | null;
  readonly sees: Sees;
  /** The secret that signed it. */
  readonly secretId: number;
  readonly issuedMs: number;
  readonly expiresMs: number;
}

/** Limits of one caller that replace those in the settings; null where the settings apply. */
export interface CallerLimits {
  readonly requestsPerSecond: number | null;
  readonly costPerSecond: number | null;
  readonly connections: number | null;
  readonly subscriptions: number | null;
  /**
   * How much its tenant, or without a tenant everybody together, may have stored for the caller to store more; applies besides
   * the limit of the tenant.
   */
  readonly storedItems: number | null;
  readonly storedBytes: number | null;
}

export const noLimits: CallerLimits = Object.freeze({
  requestsPerSecond: null,
  costPerSecond: null,
  connections: null,
  subscriptions: null,
  storedItems: null,
  storedBytes: null,
});

export interface Caller extends Scope, Owner {
  /** The name of the caller for people, in the log and in the audit. Never a secret. */
  readonly name: string;
  /** Null for a caller that belongs to no tenant, and sees all of them. */
  readonly tenant: string | null;
  /** The account that usage is counted for: the same for all requests with the same key, or of the same user. Null without authentication. */
  readonly account: string | null;
  readonly limits: CallerLimits;
  readonly roles: readonly Role[];
  readonly permissions: ReadonlySet<Permission>;
  /** For a watch token: the token. Null for all others, whose permissions are sufficient. */
  readonly watchToken: WatchedTree | null;
  /** The same text for all callers with the same rights. */
  readonly rights: string;
}

export type TenantScope = Pick<Caller, 'tenant'> & Scope;

/** `types` are those of its tenant, without the tenant's prefix. */
export function createCaller(
  name: string,
  roles: readonly Role[],
  scope: Partial<Scope> & Partial<Pick<Caller, 'tenant' | 'account' | 'limits'>> = {},
): Caller {
  const { tenant = null, types = null, rootIds = null, account = null, limits = noLimits } = scope;
  // A tenant is not a scope: it restricts what exists, and removes only what belongs to none.
  const permitted = (Object.keys(permissions) as Permission[]).filter((permission) => {
    const grant: Grant = permissions[permission];
    return (
      roles.some((role) => grant.roles.includes(role)) &&
      (tenant === null || grant.isWithoutTenant !== true) &&
      (types === null || grant.scopes.includes('types')) &&
      (rootIds === null || grant.scopes.includes('roots'))
    );
  });
  const sorted = (values: readonly string[] | null) => values && [...new Set(values)].sort();
  return Object.freeze({
    name,
    tenant,
    // Two tenants may have users with the same name.
    account: account === null || tenant === null ? account : `${tenant}//${account}`,
    limits,
    roles,
    types: tenant === null ? types : (types ?? ['*']).map((pattern) => beginningOf(tenant) + pattern),
    rootIds,
    permissions: new Set(permitted),
    watchToken: null,
    rights: JSON.stringify([tenant, sorted(roles), sorted(types), sorted(rootIds)]),
  });
}

/** Why a caller without this permission is refused `what`, and which role would do. */
export function explainRefusal(caller: Caller, permission: Permission, what: string): string {
  const { roles, scopes, isWithoutTenant = false }: Grant = permissions[permission];
  if (caller.watchToken !== null) return `Your watch token does not allow ${what}.`;
  if (roles.length === 0) return `${what} needs a watch token.`;
  if (!caller.roles.some((role) => roles.includes(role)))
    return `${what} needs the role ${either.format(roles)}; yours: ${caller.roles.join(', ') || 'none'}.`;
  if (isWithoutTenant && caller.tenant !== null) return `${what} is not allowed for callers of a tenant.`;
  const narrowedBy = caller.rootIds !== null && !scopes.includes('roots') ? 'trees' : 'types';
  return `${what} is not allowed with a scope that is limited to ${narrowedBy}.`;
}

const either = new Intl.ListFormat('en-GB', { type: 'disjunction' });

const ofWatchTokens: ReadonlySet<Permission> = new Set(['read', 'stream']);

/** The caller with a watch token. All tokens for one tree that see the same have the same rights, so they share subscriptions. */
export function createTokenCaller(watchToken: WatchedTree): Caller {
  const { rootId, tenant, sees } = watchToken;
  return Object.freeze({
    name: `watch token for ${rootId}`,
    tenant,
    // Whoever has the token is counted by address instead.
    account: null,
    limits: noLimits,
    roles: [],
    types: tenant === null ? null : [`${beginningOf(tenant)}*`],
    rootIds: [rootId],
    permissions: ofWatchTokens,
    watchToken,
    rights: JSON.stringify(['watch token', tenant, rootId, sees]),
  });
}

/** The caller if authentication is off. */
export const anybody: Caller = createCaller('anybody', ['admin']);

/** Whether the caller may see everything of all jobs. */
export function isUnscoped({ types, rootIds }: Scope): boolean {
  return types === null && rootIds === null;
}

/** Whether the caller may see everything of all jobs of its tenant, or of all jobs if it has none. */
export function seesTenant({ tenant, types, rootIds }: TenantScope): boolean {
  if (rootIds !== null) return false;
  return types === null || (tenant !== null && types.includes(`${beginningOf(tenant)}*`));
}

export function coversType({ types }: Scope, type: string): boolean {
  if (types === null) return true;
  return types.some((pattern) => {
    if (!pattern.endsWith('*')) return type === pattern;
    const beginning = pattern.slice(0, -1);
    return type.startsWith(beginning) && (spansSlashes(beginning) || !type.includes('//'));
  });
}

/**
 * Whether a `*` after this beginning also stands for `//`. If it always did, `mail*` of a caller without a tenant would cover all
 * types of a tenant `mail-corp`.
 */
export const spansSlashes = (beginning: string) => beginning.includes('//');

/**
 * Whether the caller may use a name: a scope without a tenant reaches only tenants that its types begin with. Otherwise a key for `mail`
 * could hold the serialize keys of a tenant, or send callbacks in its name.
 */
export function mayName(caller: TenantScope, name: string): boolean {
  const tenant = isUnscoped(caller) || caller.tenant !== null ? null : tenantOf(name);
  return (
    tenant === null || (caller.types?.some((pattern) => pattern.startsWith(beginningOf(tenant))) ?? false)
  );
}

/** Whose uploads the caller may use: those of its tenant, and with a scope only those that it has sent itself. */
export function uploadsOf(caller: Caller): {
  readonly tenant: string | null;
  readonly account: string | null;
} {
  return { tenant: caller.tenant, account: seesTenant(caller) ? null : (caller.account ?? '') };
}

export function coversJob(scope: Scope, job: { readonly type: string; readonly rootId: string }): boolean {
  return coversType(scope, job.type) && (scope.rootIds === null || scope.rootIds.includes(job.rootId));
}
