/** Who calls, and how much each caller may have under way. */
import type { IncomingMessage } from 'node:http';
import type { Database } from '../db/database.ts';
import type { AppOptions } from './app-options.ts';
import { Operations } from './execution/operations.ts';
import { SubscriptionCosts } from './execution/subscription-costs.ts';
import { EventStreams } from './http/event-streams.ts';
import { OpenRequests } from './http/open-requests.ts';
import { Parking } from './limits/parking.ts';
import { Quota } from './limits/quota.ts';
import { RateLimits } from './limits/rate-limits.ts';
import { Stalls } from './limits/stalls.ts';
import { createAddressOf } from './rights/addresses.ts';
import { Authentication, nobody } from './rights/authentication.ts';
import { KnownKeys } from './rights/known-keys.ts';
import { KnownTokens } from './rights/known-tokens.ts';
import { KnownWatchTokens } from './rights/known-watch-tokens.ts';
import { createOwnerOf, limitOf } from './rights/owners.ts';
import { TrustedProxy } from './rights/trusted-proxy.ts';

/** A connection is ended when data waits to be sent on it and none has moved for this long. */
const stalledAfterMs = 30_000;
/** Limits of concurrent requests that need no authentication: GraphiQL's page, and preflights of browsers. */
const strangersPerAddress = 50;
const mostStrangers = 500;

export type Callers = ReturnType<typeof wireCallers>;

export function wireCallers(options: AppOptions, database: Database) {
  const { config, logger, times } = options;
  const rights = wireAuthentication(options, database);
  const { authentication, ownerOf } = rights;
  const { callerBytes, callerRates, maxBytesUnderWay, maxRequestBytes, maxRequests, tenantRates } = config;
  const connections = new Quota({
    mostPerCaller: (owner) => limitOf(owner, 'connections', config.callerConnections),
    mostPerTenant: config.tenantConnections ?? Number.POSITIVE_INFINITY,
  });
  const bytes = new Quota({ mostPerCaller: callerBytes, mostPerTenant: callerBytes, most: maxBytesUnderWay });
  const stalls = new Stalls({ afterMs: times?.stalledAfterMs ?? stalledAfterMs });
  const rates = new RateLimits({
    caller: callerRates,
    tenant: tenantRates,
    ownerOf,
    setHeaders: (request, headers) => openRequests.setHeaders(request, headers),
  });
  const operations = new Operations({
    logger,
    maxTokens: config.maxQueryTokens,
    maxActive: maxRequests,
    rates,
  });
  // A single caller or tenant can't use up the server's requests.
  const mostOfOne = Math.ceil(maxRequests * 0.9);
  const limits = { ownerOf, stalls, maxRequestBytes };
  const openRequests = new OpenRequests({
    ...limits,
    bytes,
    requests: new Quota({ mostPerCaller: mostOfOne, mostPerTenant: mostOfOne, most: maxRequests }),
  });
  const strangers = new OpenRequests({
    ...limits,
    bytes: new Quota({ mostPerCaller: callerBytes, most: maxBytesUnderWay }),
    requests: new Quota({ mostPerCaller: strangersPerAddress, most: mostStrangers }),
  });
  const costs = new SubscriptionCosts({
    most: config.callerSubscriptionCost,
    places: new Quota({
      mostPerCaller: (owner) => limitOf(owner, 'subscriptions', callerRates.subscriptions),
      mostPerTenant: tenantRates.subscriptions ?? Number.POSITIVE_INFINITY,
    }),
    ownerOf,
  });
  const streams = new EventStreams({ authentication, ownerOf, connections });
  const parking = new Parking({
    mostPerCaller: options.parkedClaims,
    onRest: (request) => openRequests.rest(request),
  });
  const quotas = { connections, bytes };
  return { ...rights, quotas, parking, stalls, rates, operations, openRequests, strangers, costs, streams };
}

function wireAuthentication({ config, logger }: AppOptions, database: Database) {
  const addressOf = createAddressOf(config.trustedProxies);
  const keys = config.auth.includes('keys') ? new KnownKeys({ database, logger }) : undefined;
  const tokens = config.jwt && new KnownTokens({ config: config.jwt, logger });
  const proxy = config.proxy && new TrustedProxy(config.proxy);
  const watchTokens = new KnownWatchTokens({ database, logger });
  const authentication = new Authentication({ keys, tokens, proxy, watchTokens, addressOf });
  const ownerOf = createOwnerOf(authentication, addressOf);
  const callerOf = (request: IncomingMessage) => authentication.admissionOf(request)?.caller ?? nobody;
  return { addressOf, keys, watchTokens, authentication, ownerOf, callerOf };
}
