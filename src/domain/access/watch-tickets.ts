/** Tickets for event streams, each of which opens once what a watch token does. */
import { createHash, randomBytes } from 'node:crypto';
import { type Queries, type Statement, unflushed } from '../../db/database.ts';
import type { Sees, WatchedTree } from './rights.ts';

export const watchTicketPrefix = 'jobtree_ticket_';
export const watchTicketLifetimeMs = 30_000;
const ticketLength = watchTicketPrefix.length + 43;

/** Also removes some expired tickets. The commit does not wait for the disk: the holder of a ticket that a crash forgot asks for another. */
const insertTicket: Statement = {
  name: 'create_watch_ticket',
  first: `expired as (
    delete from jobtree.watch_ticket t
    where t.hash = any (array(
      select o.hash from jobtree.watch_ticket o
      where o.expires_at < now() order by o.expires_at limit 10
      for update skip locked
    ))
  )`,
  text: `insert into jobtree.watch_ticket (hash, root_id, tenant, sees, secret_id, issued_ms, token_expires_ms, expires_at)
    select $1, $2, $3, $4, $5, $6, $7, clock_timestamp() + $8 * interval '1 millisecond'
    where ${unflushed}`,
};

/** A ticket opens what its token does: once, and within half a minute. */
export async function createWatchTicket(
  database: Pick<Queries, 'call'>,
  claims: WatchedTree,
): Promise<string> {
  const ticket = `${watchTicketPrefix}${randomBytes(32).toString('base64url')}`;
  const { rootId, tenant, sees, secretId, issuedMs, expiresMs } = claims;
  await database.call(
    insertTicket,
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

/** Of several concurrent calls, one succeeds. */
const takeTicket: Statement = {
  name: 'use_watch_ticket',
  first: `used as (
    delete from jobtree.watch_ticket t where t.hash = $1
    returning t.root_id, t.tenant, t.sees, t.secret_id, t.issued_ms, t.token_expires_ms, t.expires_at
  )`,
  text: `select root_id, tenant, sees, secret_id, issued_ms, token_expires_ms from used where expires_at > clock_timestamp()`,
};

/** The tree that the token of a ticket opens; undefined if it is not a ticket, was used, or has expired. */
export async function useWatchTicket(
  database: Pick<Queries, 'call'>,
  ticket: string,
): Promise<WatchedTree | undefined> {
  if (!ticket.startsWith(watchTicketPrefix) || ticket.length !== ticketLength) return undefined;
  const [row] = await database.call<{
    root_id: string;
    tenant: string | null;
    sees: Sees;
    secret_id: number;
    issued_ms: number;
    token_expires_ms: number;
  }>(takeTicket, hashOf(ticket));
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

const hashOf = (text: string) => createHash('sha256').update(text).digest();
