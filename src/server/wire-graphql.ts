/** GraphQL, and what operations have access to. */
import { ownVersion } from '../db/migrate.ts';
import type { Examiner } from '../doctor/examiner.ts';
import { Audit } from '../domain/access/audit.ts';
import type { Uploads } from '../domain/files/uploads.ts';
import type { AppOptions } from './app-options.ts';
import { createGraphQL } from './http/graphql.ts';
import type { Lifetime } from './http/lifetime.ts';
import { createPeerOf } from './rights/addresses.ts';
import { Admission } from './rights/admission.ts';
import type { Callers } from './wire-callers.ts';
import type { ServerEngine } from './wire-engine.ts';
import type { Events } from './wire-events.ts';

/** What is behind the edge. */
export interface Inside {
  readonly lifetime: Lifetime;
  readonly events: Events;
  readonly engine: ServerEngine;
  readonly uploads: Uploads;
  readonly callers: Callers;
}

export function wireGraphQL(
  { config, logger }: AppOptions,
  { callers, engine, events, uploads }: Inside,
  examiner: Examiner,
) {
  const { folds, hints, hub, transport } = events;
  const { authentication, costs, openRequests, operations, ownerOf, parking, quotas, rates, streams } =
    callers;
  const { maxAnswerBytes, maxJsonBytes, maxQueryCost, maxRequestBytes, maxUploadBytes } = config;
  const server = {
    version: ownVersion,
    signIn: config.auth,
    get transport() {
      return transport.route;
    },
    maxRequestBytes,
    maxJsonBytes,
    maxUploadBytes,
  };
  const services = {
    engine,
    folds,
    hub,
    hints,
    audit: new Audit({ logger }),
    uploads,
    examiner,
    maxQueryCost,
    maxAnswerBytes,
    server,
    endOf: Admission.endOf,
  };
  return createGraphQL({
    config,
    services,
    operations,
    rates,
    costs,
    streams,
    openRequests,
    authentication,
    ownerOf,
    peerOf: createPeerOf(config.trustedProxies),
    bytes: quotas.bytes,
    parking,
  });
}
