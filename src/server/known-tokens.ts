/**
 * JSON Web Tokens of one issuer. A token is verified when it is first seen, and then known for some minutes, at most until it is over:
 * sockets and streams that were opened with it end then.
 */
import { hash } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { JwtConfig } from '../config.ts';
import { checkRoles, checkRootIds, checkTypePatterns } from '../domain/api-keys.ts';
import { createCaller } from '../domain/rights.ts';
import { checkTenant } from '../domain/tenants.ts';
import { JobtreeError, UnauthenticatedError, UnavailableError } from '../errors.ts';
import { KeySet, KeysUnknownError } from './key-set.ts';
import { Right } from './right.ts';
import { Tries } from './tries.ts';

const mostKnown = 10_000;
/** A key that the issuer has taken back counts no longer than that for requests. */
const knownMs = 300_000;
const mostUnknown = 10_000;
const unknownMs = 10_000;
/** Of one address: each takes a core for a moment, or waits for the issuer. */
const verifiedAtOnce = 20;
const maxNameLength = 200;

export class KnownTokens {
  readonly #config: JwtConfig;
  readonly #keys: KeySet;
  readonly #known = new LRUCache<string, Right>({ max: mostKnown, ttl: knownMs });
  readonly #unknown = new LRUCache<string, true>({ max: mostUnknown, ttl: unknownMs });
  readonly #tries = new Tries({ atOnce: verifiedAtOnce });

  constructor({ config, logger }: { config: JwtConfig; logger: Logger }) {
    this.#config = config;
    this.#keys = new KeySet({ url: config.jwksUrl, logger });
  }

  /** What a token gives; rejects with the refusal. At once if it was shown before. */
  find(token: string, address: string): Right | Promise<Right> {
    const digest = hash('sha256', token, 'base64');
    const known = this.#known.get(digest);
    if (known !== undefined && known.until > performance.now()) return known;
    if (this.#unknown.has(digest)) throw refused();
    // One with this text may have come meanwhile.
    return this.#tries.run(address, async () => this.#known.get(digest) ?? this.#verify(token, digest));
  }

  async #verify(token: string, digest: string): Promise<Right> {
    const { issuer, audience, algorithms, clockSkewSeconds } = this.#config;
    try {
      const { payload } = await jwtVerify(token, this.#keys.find, {
        issuer,
        audience,
        algorithms: [...algorithms],
        clockTolerance: clockSkewSeconds,
        requiredClaims: ['exp', 'sub'],
      });
      const right = this.#toRight(payload);
      this.#known.set(digest, right);
      return right;
    } catch (error) {
      // Without the keys of the issuer nobody can say what it is.
      if (error instanceof KeysUnknownError)
        throw new UnavailableError('The issuer of tokens has not given its keys yet, or not this one.');
      this.#unknown.set(digest, true);
      if (error instanceof UnauthenticatedError) throw error;
      if (error instanceof errors.JWTExpired) throw new UnauthenticatedError('The token is over.');
      throw refused();
    }
  }

  #toRight(payload: JWTPayload): Right {
    const { rolesClaim, typesClaim, treesClaim, tenantClaim } = this.#config;
    const { sub = '', exp = 0 } = payload;
    try {
      const roles = checkRoles(toList(payload[rolesClaim]) ?? []);
      const types = toList(payload[typesClaim]);
      const trees = toList(payload[treesClaim])?.map((id) => id.replace(/^Job:/, ''));
      if (roles.includes('admin') && (types !== null || trees !== undefined))
        throw new UnauthenticatedError('The token has the role admin, which goes with no scope.');
      return new Right({
        caller: createCaller(`token ${sub.slice(0, maxNameLength)}`, roles, {
          tenant: toTenant(payload[tenantClaim]),
          account: `token ${sub}`,
          types: types && checkTypePatterns(types),
          rootIds: trees === undefined ? null : checkRootIds(trees),
        }),
        until: performance.now() + exp * 1_000 - Date.now() + this.#config.clockSkewSeconds * 1_000,
        whenOver: 'The token is over.',
      });
    } catch (error) {
      if (error instanceof JobtreeError && !(error instanceof UnauthenticatedError))
        throw new UnauthenticatedError(`The claims of the token can't be used: ${error.message}`);
      throw error;
    }
  }
}

/** The same whatever is wrong with it. */
const refused = () =>
  new UnauthenticatedError('The token is none of the issuer for this server, or is not good (any more).');

/** A list of texts, or one text with blanks between, as scopes are written. Null for none; what is neither is no list. */
function toList(claim: unknown): string[] | null {
  if (claim === undefined || claim === null) return null;
  if (typeof claim === 'string') return claim.split(' ').filter((part) => part !== '');
  if (Array.isArray(claim) && claim.every((part) => typeof part === 'string')) return claim;
  throw new UnauthenticatedError('A claim of the token is neither a text nor a list of texts.');
}

/** A claim that names none means none: a token that is meant for a tenant must not see all of them. */
function toTenant(claim: unknown): string | null {
  if (claim === undefined) return null;
  if (typeof claim !== 'string')
    throw new UnauthenticatedError('The claim of the tenant is no text: leave it out for no tenant.');
  return checkTenant(claim);
}
