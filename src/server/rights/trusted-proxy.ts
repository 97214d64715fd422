/**
 * A proxy that authenticates callers and names them in headers. It is trusted if it sends the secret that it shares with the server, or connects
 * from one of its addresses, or both, as configured. The headers of anybody else are ignored.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import type { ProxyConfig } from '../../config/config.ts';
import { checkRoles } from '../../domain/access/api-keys.ts';
import { createCaller } from '../../domain/access/rights.ts';
import { checkTenant } from '../../domain/values/tenants.ts';
import { InvalidInputError, UnauthenticatedError } from '../../errors.ts';
import { Admission } from './admission.ts';

export const secretHeader = 'jobtree-proxy-secret';
const mostKnown = 10_000;
const maxNameLength = 200;

const digest = (text: string) => createHash('sha256').update(text).digest();

export class TrustedProxy {
  readonly #config: ProxyConfig;
  readonly #secret: Buffer | undefined;
  readonly #networks: readonly ReturnType<typeof ipaddr.parseCIDR>[];
  readonly #known = new LRUCache<string, Admission>({ max: mostKnown });

  constructor(config: ProxyConfig) {
    this.#config = config;
    this.#secret = config.secret === undefined ? undefined : digest(config.secret);
    this.#networks = config.networks.map((network) => ipaddr.parseCIDR(network));
  }

  /** The right that the proxy gives a request; undefined if it names no user, or is not trusted. */
  find(request: IncomingMessage): Admission | undefined {
    const { userHeader, rolesHeader, tenantHeader } = this.#config;
    const user = request.headers[userHeader];
    const roles = request.headers[rolesHeader] ?? '';
    if (typeof user !== 'string' || user === '' || typeof roles !== 'string' || !this.#isTrusted(request))
      return undefined;
    // Node joins repeated headers, and nobody knows who added the other one.
    for (const name of [userHeader, rolesHeader, tenantHeader])
      if ((request.headersDistinct[name]?.length ?? 0) > 1)
        throw new UnauthenticatedError(`The header ${name} appears more than once.`);
    const tenant = request.headers[tenantHeader];
    const key = JSON.stringify([user, roles, tenant]);
    let admission = this.#known.get(key);
    if (admission === undefined) {
      const name = `user ${user.slice(0, maxNameLength)}`;
      admission = new Admission({
        caller: createCaller(name, toRoles(roles), {
          tenant: toTenant(tenant),
          account: `user ${user}`,
        }),
      });
      this.#known.set(key, admission);
    }
    return admission;
  }

  #isTrusted({ headers, socket }: IncomingMessage): boolean {
    if (this.#secret !== undefined) {
      const shown = headers[secretHeader];
      if (typeof shown !== 'string' || !timingSafeEqual(digest(shown), this.#secret)) return false;
    }
    if (this.#networks.length === 0) return true;
    if (!ipaddr.isValid(socket.remoteAddress ?? '')) return false;
    const address = ipaddr.process(socket.remoteAddress as string);
    return this.#networks.some(
      ([network, bits]) => address.kind() === network.kind() && address.match(network, bits),
    );
  }
}

function toRoles(text: string) {
  try {
    return checkRoles(text.split(',').map((role) => role.trim()));
  } catch (error) {
    if (error instanceof InvalidInputError)
      throw new UnauthenticatedError(`The proxy sent invalid roles: ${error.message}`);
    throw error;
  }
}

/** An empty header is refused: a proxy that knows no tenant must leave it out. */
function toTenant(text: string | string[] | undefined): string | null {
  if (text === undefined) return null;
  try {
    return checkTenant(String(text));
  } catch (error) {
    if (error instanceof InvalidInputError)
      throw new UnauthenticatedError(`The proxy sent an invalid tenant: ${error.message}`);
    throw error;
  }
}
