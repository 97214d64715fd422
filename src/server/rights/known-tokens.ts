/**
 * JSON Web Tokens of one issuer. A token is verified when it is first seen and then cached for some minutes, but no longer than it is valid:
 * sockets and streams that were opened with it end at its expiry.
 */
import { hash } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { JwtConfig } from '../../config/config.ts';
import { checkRoles, checkRootIds, checkTypePatterns } from '../../domain/access/api-keys.ts';
import { createCaller } from '../../domain/access/rights.ts';
import { checkTenant } from '../../domain/values/tenants.ts';
import { JobtreeError, UnauthenticatedError, UnavailableError } from '../../errors.ts';
import { Tries } from '../limits/tries.ts';
import { Admission } from './admission.ts';
import { KeySet, KeysUnknownError } from './key-set.ts';

const mostKnown = 10_000;
/** How long requests may go on with a token whose key the issuer has withdrawn. */
const knownMs = 300_000;
const mostUnknown = 10_000;
const unknownMs = 10_000;
/** Per address: each verification takes a core for a moment, or waits for the issuer. */
const verifiedAtOnce = 20;
const maxNameLength = 200;

export class KnownTokens {
  readonly #config: JwtConfig;
  readonly #keys: KeySet;
  readonly #known = new LRUCache<string, Admission>({ max: mostKnown, ttl: knownMs });
  readonly #unknown = new LRUCache<string, true>({ max: mostUnknown, ttl: unknownMs });
  readonly #tries = new Tries({ atOnce: verifiedAtOnce });

  constructor({ config, logger }: { config: JwtConfig; logger: Logger }) {
    this.#config = config;
    this.#keys = new KeySet({ url: config.jwksUrl, logger });
  }

  /** The right of a token: at once if the token is known. Throws, or rejects with, the refusal. */
  find(token: string, address: string): Admission | Promise<Admission> {
    const digest = hash('sha256', token, 'base64');
    const known = this.#known.get(digest);
    if (known !== undefined && known.until > performance.now()) return known;
    if (this.#unknown.has(digest)) throw refused();
    // Another request may have verified the same token meanwhile.
    return this.#tries.run(address, async () => this.#known.get(digest) ?? this.#verify(token, digest));
  }

  async #verify(token: string, digest: string): Promise<Admission> {
    const { issuer, audience, algorithms, clockSkewSeconds } = this.#config;
    try {
      const { payload } = await jwtVerify(token, this.#keys.find, {
        issuer,
        audience,
        algorithms: [...algorithms],
        clockTolerance: clockSkewSeconds,
        requiredClaims: ['exp', 'sub'],
      });
      const admission = this.#toAdmission(payload);
      this.#known.set(digest, admission);
      return admission;
    } catch (error) {
      // Without the issuer's keys the token can be neither accepted nor refused.
      if (error instanceof KeysUnknownError)
        throw new UnavailableError('The key of this token could not be fetched from the token issuer yet.');
      this.#unknown.set(digest, true);
      if (error instanceof UnauthenticatedError) throw error;
      if (error instanceof errors.JWTExpired) throw new UnauthenticatedError('The token has expired.');
      throw refused();
    }
  }

  #toAdmission(payload: JWTPayload): Admission {
    const { rolesClaim, typesClaim, treesClaim, tenantClaim } = this.#config;
    const { sub = '', exp = 0 } = payload;
    try {
      const named = toList(payload[rolesClaim]) ?? [];
      if (named.length === 0)
        throw new UnauthenticatedError(`The token has no role: its claim ${rolesClaim} is missing or empty.`);
      const roles = checkRoles(named);
      const types = toList(payload[typesClaim]);
      const trees = toList(payload[treesClaim])?.map((id) => id.replace(/^Job:/, ''));
      if (roles.includes('admin') && (types !== null || trees !== undefined))
        throw new UnauthenticatedError(
          'The token has the role admin, which must not be limited to types or trees.',
        );
      return new Admission({
        caller: createCaller(`token ${sub.slice(0, maxNameLength)}`, roles, {
          tenant: toTenant(payload[tenantClaim]),
          account: `token ${sub}`,
          types: types && checkTypePatterns(types),
          rootIds: trees === undefined ? null : checkRootIds(trees),
        }),
        until: performance.now() + exp * 1_000 - Date.now() + this.#config.clockSkewSeconds * 1_000,
        whenOver: 'The token has expired.',
      });
    } catch (error) {
      if (error instanceof JobtreeError && !(error instanceof UnauthenticatedError))
        throw new UnauthenticatedError(`The token's claims can't be used: ${error.message}`);
      throw error;
    }
  }
}

/** The same message whatever is wrong with the token. */
const refused = () =>
  new UnauthenticatedError(
    'The token is not one that the issuer made for this server, or is not valid (any more).',
  );

/** A list of strings, or one string of words, as scopes are written. Null for no claim; throws for anything else. */
function toList(claim: unknown): string[] | null {
  if (claim === undefined || claim === null) return null;
  if (typeof claim === 'string') return claim.split(' ').filter((part) => part !== '');
  if (Array.isArray(claim) && claim.every((part) => typeof part === 'string')) return claim;
  throw new UnauthenticatedError('A claim of the token is neither a string nor a list of strings.');
}

/** Only a missing claim means no tenant: a token meant for one tenant must not see all of them. */
function toTenant(claim: unknown): string | null {
  if (claim === undefined) return null;
  if (typeof claim !== 'string')
    throw new UnauthenticatedError('The tenant claim is not a string: leave it out for no tenant.');
  return checkTenant(claim);
}
