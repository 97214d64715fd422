/** What the network reaches: HTTP and WebSockets. */
import { Examiner } from '../doctor/examiner.ts';
import type { AppOptions } from './app-options.ts';
import { Certificate } from './http/certificate.ts';
import { createHealth } from './http/health.ts';
import { Http } from './http/http.ts';
import { createGuard } from './http/origin.ts';
import { SocketServer } from './sockets/websocket.ts';
import { type Inside, wireGraphQL } from './wire-graphql.ts';
import { wireRoutes } from './wire-routes.ts';

export function wireEdge(options: AppOptions, inside: Inside) {
  const { config, logger, times } = options;
  const { callers, events, lifetime } = inside;
  const { database, probe, transport } = events;
  const { addressOf, authentication, costs, openRequests, operations, quotas, rates, stalls, strangers } =
    callers;
  const certificate =
    config.tls && new Certificate({ files: config.tls, logger, everyMs: times?.certificateMs });
  const problem = () => certificate?.problem;
  const examiner = new Examiner({ config, database, problem });
  const yoga = wireGraphQL(options, inside, examiner);
  const guard = createGuard({ ...config, ownHost: config.host });
  const { maskError } = operations;
  const http = new Http({
    ...wireRoutes(options, inside, yoga),
    lifetime,
    health: createHealth({
      probe,
      writeFailure: () => database.writeFailure,
      transport,
      isReady: () => lifetime.isReady,
      problem,
      home: config.dashboard ? 'dashboard/' : 'graphql',
    }),
    guard,
    authentication,
    maskError,
    openRequests,
    rates,
    strangers,
    onConnection: () => operations.connected(),
    certificate,
  });
  const webSocket = new SocketServer({
    server: http.server,
    yoga,
    limits: {
      maxMessageBytes: config.maxRequestBytes,
      maxOperations: config.maxOperationsPerSocket,
      maxMessagesPerSecond: config.maxMessagesPerSecond,
    },
    authentication,
    addressOf,
    quotas,
    costs,
    stalls,
    guard,
    isClosing: () => lifetime.isClosing,
    maskError,
    times,
    logger,
  });
  return { certificate, examiner, http, webSocket };
}
