/**
 * Decides on whose account the resources of a request are counted. A known caller counts as itself, from however many addresses; strangers count
 * by address, however many share it.
 */
import type { IncomingMessage } from 'node:http';
import type { Owner } from '../../concurrency/fair-queue.ts';
import type { Caller, CallerLimits } from '../../domain/access/rights.ts';
import type { AddressOf } from './addresses.ts';
import type { Authentication } from './authentication.ts';

/** An owner that always has an account. */
export interface Accounted extends Owner {
  readonly account: string;
  /** Limits of this caller's own. */
  readonly limits?: CallerLimits;
}

export type OwnerOf = (request: IncomingMessage) => Accounted;

export function createOwnerOf(authentication: Authentication, addressOf: AddressOf): OwnerOf {
  return (request) => ownerOf(authentication.admissionOf(request)?.caller, () => addressOf(request));
}

export function ownerOf(caller: Caller | undefined, address: () => string): Accounted {
  return caller !== undefined && isKnown(caller) ? caller : { tenant: null, account: address() };
}

const isKnown = (caller: Caller): caller is Caller & Accounted => caller.account !== null;

/** The caller's own limit, or else the configured one; null there means no limit. */
export function limitOf(owner: Owner, name: keyof CallerLimits, standard: number | null): number {
  const { limits } = owner as Partial<Accounted>;
  return limits?.[name] ?? standard ?? Number.POSITIVE_INFINITY;
}
