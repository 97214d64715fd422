/**
 * For whom counts what a request takes of the server. Whoever is known counts as who they are, from however many addresses they come;
 * strangers count by their address, however many share it.
 */
import type { IncomingMessage } from 'node:http';
import type { Owner } from '../db/fair-queue.ts';
import type { Caller, CallerLimits } from '../domain/rights.ts';
import type { AddressOf } from './addresses.ts';
import type { Authentication } from './authentication.ts';

/** With the account always there. */
export interface Accounted extends Owner {
  readonly account: string;
  /** Of its own. */
  readonly limits?: CallerLimits;
}

export type OwnerOf = (request: IncomingMessage) => Accounted;

export function createOwnerOf(authentication: Authentication, addressOf: AddressOf): OwnerOf {
  return (request) => ownerOf(authentication.rightOf(request)?.caller, () => addressOf(request));
}

export function ownerOf(caller: Caller | undefined, address: () => string): Accounted {
  return caller !== undefined && isKnown(caller) ? caller : { tenant: null, account: address() };
}

const isKnown = (caller: Caller): caller is Caller & Accounted => caller.account !== null;

/** What the caller has of its own, or else what the settings say; null for no limit. */
export function limitOf(owner: Owner, name: keyof CallerLimits, standard: number | null): number {
  const { limits } = owner as Partial<Accounted>;
  return limits?.[name] ?? standard ?? Number.POSITIVE_INFINITY;
}
