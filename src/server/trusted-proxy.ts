/**
 * A proxy that has found out who calls, and says so in headers. It is believed if it shows the secret that it shares with the server, or comes from an
 * address of its own, or both, as the settings have it. From anybody else these headers count as not there.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import type { ProxyConfig } from '../config.ts';
import { checkRoles } from '../domain/api-keys.ts';
import { createCaller } from '../domain/rights.ts';
import { checkTenant } from '../domain/tenants.ts';
import { InvalidInputError, UnauthenticatedError } from '../errors.ts';
import { Right } from './right.ts';

export const secretHeader = 'jobtree-proxy-secret';
const mostKnown = 10_000;
const maxNameLength = 200;

const digest = (text: string) => createHash('sha256').update(text).digest();

export class TrustedProxy {
  readonly #config: ProxyConfig;
  readonly #secret: Buffer | undefined;
  readonly #networks: readonly ReturnType<typeof ipaddr.parseCIDR>[];
  readonly #known = new LRUCache<string, Right>({ max: mostKnown });

  constructor(config: ProxyConfig) {
    this.#config = config;
    this.#secret = config.secret === undefined ? undefined : digest(config.secret);
    this.#networks = config.networks.map((network) => ipaddr.parseCIDR(network));
  }

  /** What it says of a request; undefined if it says nothing, or is not to be believed. */
  find(request: IncomingMessage): Right | undefined {
    const { userHeader, rolesHeader, tenantHeader } = this.#config;
    const user = request.headers[userHeader];
    const roles = request.headers[rolesHeader] ?? '';
    if (typeof user !== 'string' || user === '' || typeof roles !== 'string' || !this.#isTrusted(request))
      return undefined;
    // Node joins them, and who put the other one there is not known.
    for (const name of [userHeader, rolesHeader, tenantHeader])
      if ((request.headersDistinct[name]?.length ?? 0) > 1)
        throw new UnauthenticatedError(`The header ${name} stands there more than once.`);
    const tenant = request.headers[tenantHeader];
    const key = JSON.stringify([user, roles, tenant]);
    let right = this.#known.get(key);
    if (right === undefined) {
      const name = `user ${user.slice(0, maxNameLength)}`;
      right = new Right({
        caller: createCaller(name, toRoles(roles), {
          tenant: toTenant(tenant),
          account: `user ${user}`,
        }),
      });
      this.#known.set(key, right);
    }
    return right;
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
      throw new UnauthenticatedError(`The proxy gives roles that can't be used: ${error.message}`);
    throw error;
  }
}

/** One that is empty is no tenant's name: a proxy that knows none leaves the header out. */
function toTenant(text: string | string[] | undefined): string | null {
  if (text === undefined) return null;
  try {
    return checkTenant(String(text));
  } catch (error) {
    if (error instanceof InvalidInputError)
      throw new UnauthenticatedError(`The proxy gives a tenant that can't be one: ${error.message}`);
    throw error;
  }
}
