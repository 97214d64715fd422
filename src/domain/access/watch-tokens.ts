/**
 * Watch tokens, which an application gives to its own users, so that their browsers can follow one tree. A token is a JSON Web
 * Signature in compact form (RFC 7515: HS256, with a secret from the database) after a prefix that secret scanners recognize.
 * Verifying it needs no look-up.
 *
 * The header is never trusted, or even parsed: it must be identical to that of a known secret. So an attacker can't choose an
 * algorithm, or refer to another key.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Queries, Statement } from '../../db/database.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { checkInteger } from '../values/checks.ts';
import { watchTokenSecondsRange } from '../values/limits.ts';
import { isSees, type Sees, type WatchedTree } from './rights.ts';

export const watchTokenPrefix = 'jobtree_watch_';
export const standardWatchTokenSeconds = 900;
export const maxWatchTokenSeconds = watchTokenSecondsRange[1];
/** More than any token has. */
export const maxWatchTokenLength = 500;

export interface WatchSecret {
  readonly id: number;
  readonly secret: Buffer;
}

export interface WatchTokenState {
  /** The time of Postgres. */
  readonly nowMs: number;
  /** The argument `since` of the next call. */
  readonly seenTo: bigint;
  readonly secrets: readonly WatchSecret[];
  readonly revocations: readonly { readonly rootId: string; readonly revokedMs: number }[];
}

type Calls = Pick<Queries, 'call'>;

const newToken: Statement = {
  name: 'new_watch_token',
  text: `select s.id as secret_id, s.secret, floor(extract(epoch from clock_timestamp()) * 1000)::double precision as now_ms
    from jobtree.watch_secret s
    where exists (select from jobtree.job j where j.id = $1 and j.root_id = j.id)
    order by s.id desc limit 1`,
};

/** Why there is no token for this job: tokens open whole trees. */
async function refusal({ pool }: Pick<Queries, 'pool'>, jobId: string): Promise<Error> {
  const { rows } = await pool.query<{ root_id: string }>({
    name: 'root_of_job',
    text: 'select root_id from jobtree.job where id = $1',
    values: [jobId],
  });
  const [job] = rows;
  if (job === undefined) return new NotFoundError(`There is no job ${jobId}.`, 'jobId');
  if (job.root_id === jobId) return new Error('There is no secret for watch tokens.');
  return new InvalidInputError(`Job ${jobId} is not a root: watch tokens are for whole trees.`, 'jobId');
}

/** @throws NotFoundError; InvalidInputError for a job that is not a root */
export async function createWatchToken(
  database: Pick<Queries, 'call' | 'pool'>,
  options: {
    readonly rootId: string;
    readonly tenant: string | null;
    readonly expiresInSeconds: number;
    readonly sees: Sees;
  },
): Promise<{ token: string; expiresAt: Date }> {
  const { rootId, tenant, sees } = options;
  const seconds = checkInteger(options.expiresInSeconds, 'expiresInSeconds', ...watchTokenSecondsRange);
  const [row] = await database.call<{ secret_id: number; secret: Buffer; now_ms: number }>(newToken, rootId);
  if (row === undefined) throw await refusal(database, rootId);
  const expiresMs = row.now_ms + seconds * 1_000;
  const secret = { id: row.secret_id, secret: row.secret };
  return {
    token: signWatchToken(secret, {
      rootId,
      tenant,
      sees,
      secretId: secret.id,
      issuedMs: row.now_ms,
      expiresMs,
    }),
    expiresAt: new Date(expiresMs),
  };
}

/** Servers notice within seconds: `readWatchTokens`. Also forgets some that are older than any token can be. */
export const revokeTokens: Statement = {
  name: 'revoke_watch_tokens',
  first: `old as (
    update jobtree.tree t set revoked_at = null, revoked_in = null
    where t.root_id = any (array(
      select o.root_id from jobtree.tree o
      where o.root_id in (select n.root_id from jobtree.tree n where n.revoked_in is not null order by n.revoked_in limit 100)
        and o.revoked_at < now() - interval '25 hours' and o.root_id <> $1
      for no key update skip locked
    ))
  )`,
  // A clock that was set back must not make tokens valid again.
  text: `update jobtree.tree t
    set revoked_at = greatest(t.revoked_at, clock_timestamp()), revoked_in = pg_current_xact_id()::text::bigint
    where t.root_id = $1
    returning t.revoked_at`,
};

/** @throws NotFoundError; InvalidInputError for a job that is not a root */
export async function revokeWatchTokens(
  database: Pick<Queries, 'call' | 'pool'>,
  rootId: string,
): Promise<Date> {
  const [row] = await database.call<{ revoked_at: Date }>(revokeTokens, rootId);
  if (row === undefined) throw await refusal(database, rootId);
  return row.revoked_at;
}

const initSecret: Statement = {
  name: 'init_watch_secret',
  text: `insert into jobtree.watch_secret (id, secret, created_at)
    select 1, $1, clock_timestamp() where not exists (select from jobtree.watch_secret)
    on conflict (id) do nothing`,
};

/** Called by every server; only the first one on a database has an effect. */
export async function initWatchSecret(database: Calls): Promise<void> {
  await database.call(initSecret, randomBytes(32));
}

const rotateSecret: Statement = {
  name: 'rotate_watch_secret',
  first: `newest as (select coalesce(max(s.id), 0) as id from jobtree.watch_secret s),
    old as (delete from jobtree.watch_secret s using newest n where s.id < n.id)`,
  text: `insert into jobtree.watch_secret (id, secret, created_at) select n.id + 1, $1, clock_timestamp() from newest n
    on conflict (id) do nothing
    returning id`,
};

/** Tokens that the previous secret has signed remain valid; those of older ones do not. So two rotations invalidate all tokens. */
export async function rotateWatchSecret(database: Calls): Promise<void> {
  // Another rotation may take the number first.
  while ((await database.call(rotateSecret, randomBytes(32))).length === 0);
}

/**
 * A revocation gets its time before it commits, so the time can't tell whether it is new. Its transaction id can: whatever an earlier
 * snapshot did not see has an id that is not below that snapshot's xmin.
 */
const readTokens: Statement = {
  name: 'read_watch_tokens',
  text: `select floor(extract(epoch from clock_timestamp()) * 1000)::double precision as now_ms,
      pg_snapshot_xmin(pg_current_snapshot())::text as seen_to, s.secret_ids, s.secrets, r.root_ids, r.revoked_ms
    from (
      select array_agg(w.id order by w.id) as secret_ids, array_agg(w.secret order by w.id) as secrets from jobtree.watch_secret w
    ) s
    cross join (
      select array_agg(t.root_id) as root_ids,
        array_agg(floor(extract(epoch from t.revoked_at) * 1000)::double precision) as revoked_ms
      from jobtree.tree t where t.revoked_in >= $1
    ) r`,
};

/** `since` is the `seenTo` of the previous call; 0 for all revocations. */
export async function readWatchTokens(
  database: Pick<Queries, 'callForLeases'>,
  since: bigint,
): Promise<WatchTokenState> {
  const [row] = await database.callForLeases<{
    now_ms: number;
    seen_to: string;
    secret_ids: number[] | null;
    secrets: Buffer[] | null;
    root_ids: string[] | null;
    revoked_ms: number[] | null;
  }>(readTokens, since);
  if (row === undefined) throw new Error('read_watch_tokens returned no row');
  return {
    nowMs: row.now_ms,
    seenTo: BigInt(row.seen_to),
    secrets: (row.secret_ids ?? []).map((id, i) => ({ id, secret: row.secrets?.[i] as Buffer })),
    revocations: (row.root_ids ?? []).map((rootId, i) => ({ rootId, revokedMs: row.revoked_ms?.[i] ?? 0 })),
  };
}

/** The first part of all tokens signed with a secret. */
export function headerOf(secretId: number): string {
  return toBase64(JSON.stringify({ alg: 'HS256', typ: 'jobtree-watch+jwt', kid: String(secretId) }));
}

export function signWatchToken({ id, secret }: WatchSecret, claims: WatchedTree): string {
  const { rootId, tenant, sees, issuedMs, expiresMs } = claims;
  const payload = {
    sub: rootId,
    ...(tenant !== null && { tenant }),
    sees,
    iat: issuedMs / 1_000,
    exp: expiresMs / 1_000,
  };
  const signed = `${headerOf(id)}.${toBase64(JSON.stringify(payload))}`;
  return `${watchTokenPrefix}${signed}.${signatureOf(secret, signed).toString('base64url')}`;
}

/** The id of the secret that a header names; undefined if it names none. */
export function secretIdIn(header: string): number | undefined {
  const id = Number(/"kid":"(\d{1,9})"/.exec(Buffer.from(header, 'base64url').toString())?.[1]);
  return headerOf(id) === header ? id : undefined;
}

/** The header of a text that may be a token; undefined if it does not have the form of one. */
export function headerIn(token: string): string | undefined {
  if (token.length > maxWatchTokenLength || !token.startsWith(watchTokenPrefix)) return undefined;
  return /^([\w-]+)\.[\w-]+\.[\w-]{43}$/.exec(token.slice(watchTokenPrefix.length))?.[1];
}

/** The tree that a token opens, if it is signed with this secret, which its header named. The caller has to check whether it has expired. */
export function readWatchToken(token: string, { id, secret }: WatchSecret): WatchedTree | undefined {
  const text = token.slice(watchTokenPrefix.length);
  const end = text.lastIndexOf('.');
  const signed = text.slice(0, end);
  const signature = Buffer.from(text.slice(end + 1), 'base64url');
  if (signature.length !== 32 || !timingSafeEqual(signature, signatureOf(secret, signed))) return undefined;
  // We signed it, so it is what we wrote.
  const {
    sub,
    tenant = null,
    sees,
    iat,
    exp,
  } = JSON.parse(Buffer.from(signed.slice(signed.indexOf('.') + 1), 'base64url').toString());
  if (typeof sub !== 'string' || !isSees(sees) || typeof iat !== 'number' || typeof exp !== 'number')
    return undefined;
  return {
    rootId: sub,
    tenant,
    sees,
    secretId: id,
    issuedMs: Math.round(iat * 1_000),
    expiresMs: Math.round(exp * 1_000),
  };
}

const toBase64 = (text: string) => Buffer.from(text).toString('base64url');
const signatureOf = (secret: Buffer, text: string) => createHmac('sha256', secret).update(text).digest();
