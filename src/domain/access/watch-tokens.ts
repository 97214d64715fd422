/**
 * Watch tokens, which an application gives to its own users, so that their browsers can follow one tree. A token is a JSON Web
 * Signature in compact form (RFC 7515: HS256, with a secret from the database) after a prefix that secret scanners recognize.
 * Verifying it needs no look-up.
 *
 * The header is never trusted, or even parsed: it must be identical to that of a known secret. So an attacker can't choose an
 * algorithm, or refer to another key.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Queries } from '../../db/database.ts';
import { checkInteger } from '../values/checks.ts';
import { watchTokenSecondsRange } from '../values/limits.ts';
import { isSees, type Sees, type WatchedTree } from './rights.ts';

export const watchTokenPrefix = 'jobtree_watch_';
export const watchTicketPrefix = 'jobtree_ticket_';
export const standardWatchTokenSeconds = 900;
export const maxWatchTokenSeconds = watchTokenSecondsRange[1];
/** More than any token has. */
export const maxWatchTokenLength = 500;
export const watchTicketLifetimeMs = 30_000;
const ticketLength = watchTicketPrefix.length + 43;

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

/** @throws NotFoundError; InvalidInputError for a job that is not a root */
export async function createWatchToken(
  database: Calls,
  options: {
    readonly rootId: string;
    readonly tenant: string | null;
    readonly expiresInSeconds: number;
    readonly sees: Sees;
  },
): Promise<{ token: string; expiresAt: Date }> {
  const { rootId, tenant, sees } = options;
  const seconds = checkInteger(options.expiresInSeconds, 'expiresInSeconds', ...watchTokenSecondsRange);
  const [row] = await database.call<{ secret_id: number; secret: Buffer; now_ms: number }>(
    'new_watch_token',
    rootId,
  );
  if (row === undefined) throw new Error('There is no secret for watch tokens.');
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

export async function revokeWatchTokens(database: Calls, rootId: string): Promise<Date> {
  const [row] = await database.call<{ revoke_watch_tokens: Date }>('revoke_watch_tokens', rootId);
  if (row === undefined) throw new Error('revoke_watch_tokens returned no row');
  return row.revoke_watch_tokens;
}

/** Called by every server; only the first one on a database has an effect. */
export async function initWatchSecret(database: Calls): Promise<void> {
  await database.call('init_watch_secret', randomBytes(32));
}

export async function rotateWatchSecret(database: Calls): Promise<void> {
  await database.call('rotate_watch_secret', randomBytes(32));
}

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
  }>('read_watch_tokens', since);
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

/** A ticket opens what its token does: once, and within half a minute. */
export async function createWatchTicket(database: Calls, claims: WatchedTree): Promise<string> {
  const ticket = `${watchTicketPrefix}${randomBytes(32).toString('base64url')}`;
  const { rootId, tenant, sees, secretId, issuedMs, expiresMs } = claims;
  await database.call(
    'create_watch_ticket',
    hashOf(ticket),
    rootId,
    tenant,
    sees,
    secretId,
    issuedMs,
    expiresMs,
    watchTicketLifetimeMs,
  );
  return ticket;
}

/** The tree that the token of a ticket opens; undefined if it is not a ticket, was used, or has expired. */
export async function useWatchTicket(database: Calls, ticket: string): Promise<WatchedTree | undefined> {
  if (!ticket.startsWith(watchTicketPrefix) || ticket.length !== ticketLength) return undefined;
  const [row] = await database.call<{
    root_id: string;
    tenant: string | null;
    sees: Sees;
    secret_id: number;
    issued_ms: number;
    token_expires_ms: number;
  }>('use_watch_ticket', hashOf(ticket));
  return (
    row && {
      rootId: row.root_id,
      tenant: row.tenant,
      sees: row.sees,
      secretId: row.secret_id,
      issuedMs: row.issued_ms,
      expiresMs: row.token_expires_ms,
    }
  );
}

const toBase64 = (text: string) => Buffer.from(text).toString('base64url');
const hashOf = (text: string) => createHash('sha256').update(text).digest();
const signatureOf = (secret: Buffer, text: string) => createHmac('sha256', secret).update(text).digest();
