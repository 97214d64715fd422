/**
 * The service, wired together in one place:
 *
 *   HTTP, WebSocket ─▶ schema ─▶ domain ─▶ Postgres
 *                        │          └─ effects ─▶ fold scheduler, work hints
 *                        └─ subscriptions ◀─ hub ◀─ transport ◀─ NOTIFY, or Redis
 */
import type { IncomingMessage } from 'node:http';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Config, refuseOpen } from '../config.ts';
import { Database } from '../db/database.ts';
import { migrate, ownVersion } from '../db/migrate.ts';
import { Probe } from '../db/probe.ts';
import { Examiner } from '../doctor/examiner.ts';
import { Audit } from '../domain/access/audit.ts';
import { CallbackAddresses, type LookUp } from '../domain/callbacks/addresses.ts';
import { SecretBox } from '../domain/callbacks/secret-box.ts';
import { createEngine } from '../domain/create-engine.ts';
import { Uploads } from '../domain/uploads/uploads.ts';
import { FoldScheduler } from '../events/fold-scheduler.ts';
import { Hub } from '../events/hub.ts';
import { RoomWatch } from '../events/room-watch.ts';
import { LiveTransport } from '../events/transport.ts';
import { WorkHints } from '../events/work-hints.ts';
import { S3Store } from '../object-store/s3.ts';
import { Operations } from './execution/operations.ts';
import { SubscriptionCosts } from './execution/subscription-costs.ts';
import { Certificate } from './http/certificate.ts';
import { createDashboard } from './http/dashboard.ts';
import { EventStreams } from './http/event-streams.ts';
import { Exchanges } from './http/exchanges.ts';
import { createGraphiQL } from './http/graphiql.ts';
import { createGraphQL } from './http/graphql.ts';
import { createHealth } from './http/health.ts';
import { Http } from './http/http.ts';
import { createJsonPost } from './http/json-post.ts';
import { Lifetime } from './http/lifetime.ts';
import { createMetrics } from './http/metrics.ts';
import { createMultipartPost } from './http/multipart-post.ts';
import { createGuard } from './http/origin.ts';
import { createResults } from './http/results.ts';
import { UploadStore } from './http/upload-store.ts';
import { createUploads } from './http/uploads.ts';
import { Quota } from './limits/quota.ts';
import { RateLimits } from './limits/rate-limits.ts';
import { Stalls } from './limits/stalls.ts';
import { Bookkeeper } from './loops/bookkeeper.ts';
import { Callbacks } from './loops/callbacks.ts';
import { Importer } from './loops/importer.ts';
import { createReaper } from './loops/reaper.ts';
import { createRemover } from './loops/remover.ts';
import { createScheduler } from './loops/scheduler.ts';
import { Sweeper } from './loops/sweeper.ts';
import { Parts } from './parts.ts';
import { createAddressOf, createPeerOf } from './rights/addresses.ts';
import { Authentication, nobody } from './rights/authentication.ts';
import { KnownKeys } from './rights/known-keys.ts';
import { KnownTokens } from './rights/known-tokens.ts';
import { KnownWatchTokens } from './rights/known-watch-tokens.ts';
import { createOwnerOf, limitOf } from './rights/owners.ts';
import { Right } from './rights/right.ts';
import { TrustedProxy } from './rights/trusted-proxy.ts';
import { SocketServer, type SocketServerOptions } from './sockets/websocket.ts';
import { StartTime } from './start-time.ts';

/** A connection is ended when data waits to be sent on it and none has moved for this long. */
const stalledAfterMs = 30_000;
/** Limits of concurrent requests that need no authentication: GraphiQL's page, and preflights of browsers. */
const strangersPerAddress = 50;
const mostStrangers = 500;

export interface AppOptions {
  readonly config: Config;
  readonly databaseUrl: string;
  readonly logger: Logger;
  /** Shorter times, for tests. */
  readonly times?: SocketServerOptions['times'] & {
    stalledAfterMs?: number;
    storeMs?: number;
    certificateMs?: number;
  };
  /** A name lookup of their own, for tests. */
  readonly lookUp?: LookUp;
}

export interface App {
  /** The URL of the API: `http://127.0.0.1:4000/graphql`. */
  readonly url: string;
  /**
   * Reports "not ready" and serves for the configured delay; then stops accepting, lets requests finish within the configured time, and closes
   * everything.
   */
  close(): Promise<void>;
  /** The part that is being stopped now, for the log of a shutdown that takes too long. */
  readonly stopping: string | undefined;
}

/** Migrates the database and starts the service on it. */
export async function createApp(options: AppOptions): Promise<App> {
  const { config, logger } = options;
  refuseOpen(config);
  const { lifetime, parts, http } = wire(options);
  await parts.start();
  return {
    url: http.url,
    get stopping() {
      return parts.stopping;
    },
    close: async () => {
      lifetime.leave();
      if (config.shutdownDelayMs > 0) {
        logger.info({ ms: config.shutdownDelayMs }, 'no longer ready; still serving for this time');
        await delay(config.shutdownDelayMs);
      }
      await parts.stop();
    },
  };
}

function wire({ config, databaseUrl, logger, times, lookUp }: AppOptions) {
  const directUrl = config.directDatabaseUrl ?? databaseUrl;
  const lifetime = new Lifetime(config.shutdownTimeoutMs);
  const startTime = new StartTime(config.startTimeoutMs);
  const database = new Database({
    url: databaseUrl,
    poolSize: config.poolSize,
    timeoutMs: config.databaseTimeoutMs,
    preparedStatements: config.preparedStatements,
    pooled: config.directDatabaseUrl !== undefined,
    // Only the message: the error itself carries the whole connection.
    onIdleError: ({ message }) => logger.warn({ reason: message }, 'a connection to Postgres broke'),
  });
  const probe = new Probe(databaseUrl);
  const folds = new FoldScheduler({
    database,
    intervalMs: config.foldIntervalMs,
    logger,
    onUnfinished: () => sweeper.poke(),
  });
  const transport = new LiveTransport({
    directUrl,
    redis: config.redis,
    logger,
    onTree: (tree) => hub.publish(tree),
    onWork: (payload) => hints.receive(payload),
    onActivity: () => hub.activity(),
    onLoss: (rootId) => hub.doubt(rootId),
    onResync: () => {
      hub.reread();
      hints.resync();
    },
    onBack: (silentUntil) => {
      logger.warn('Postgres answers again; replacing connections that may be dead');
      database.renewConnections(silentUntil);
    },
  });
  const hub = new Hub({ database, transport, logger });
  const hints = new WorkHints({ database, logger });
  const rooms = new RoomWatch({
    database,
    logger,
    isWanted: (type) => hints.isWanted(type),
    onRoom: (type, items) => hints.roomAgain(type, items),
  });
  const engine = createEngine({
    database,
    limits: { maxJsonBytes: config.maxJsonBytes },
    secrets: new SecretBox(config.secretsKeys),
    tenantStored: config.tenantStored,
    callbackAddresses: new CallbackAddresses({ networks: config.callbackNetworks, lookUp }),
    effects: {
      touched: (rootId, fromStart) => folds.touch(rootId, fromStart),
      ready: (counts) => hints.ready(counts),
      claimed: (type, taken, dry, startedAt) => hints.claimed(type, taken, dry, startedAt),
      limited: (type, againInMs) => {
        hints.limited(type);
        rooms.lookIn(type, againInMs);
      },
      unfinished: () => sweeper.poke(),
      importable: () => importer.poke(),
    },
    retention: {
      retentionSeconds: config.retentionSeconds,
      idleSeconds: config.idleSeconds,
      idleExpirySeconds: config.idleExpirySeconds,
    },
    durableClaims: config.durableClaims,
    slowness: { factor: config.slowFactor, afterMs: config.slowAfterMs },
    logger,
    logPayloads: config.logPayloads,
  });
  const sweeper = new Sweeper({ engine, intervalMs: config.sweepIntervalMs, logger });
  const scheduler = createScheduler({ engine, logger });
  const reaper = createReaper({ engine, auditRetentionSeconds: config.auditRetentionSeconds, logger });
  const bookkeeper = new Bookkeeper({ engine, logger });
  const store =
    config.uploadStore && new S3Store({ config: config.uploadStore, logger, limitMs: times?.storeMs });
  const uploads = new Uploads({
    database,
    store,
    lifetimeMs: config.uploadLifetimeMs,
    stored: engine.stored,
  });
  const remover = createRemover({ uploads, logger });
  const uploadStore = new UploadStore({ uploads, maxBytes: config.maxUploadBytes });
  const importer = new Importer({ engine, uploads, maxTextBytes: config.maxFileTextBytes, logger });
  const callbacks = new Callbacks({ engine, timeoutMs: config.callbackTimeoutMs, logger });

  const addressOf = createAddressOf(config.trustedProxies);
  const quotas = {
    connections: new Quota({
      mostPerCaller: (owner) => limitOf(owner, 'connections', config.callerConnections),
      mostPerTenant: config.tenantConnections ?? Number.POSITIVE_INFINITY,
    }),
    bytes: new Quota({
      mostPerCaller: config.callerBytes,
      mostPerTenant: config.callerBytes,
      most: config.maxBytesUnderWay,
    }),
  };
  const stalls = new Stalls({ afterMs: times?.stalledAfterMs ?? stalledAfterMs });
  const keys = config.auth.includes('keys') ? new KnownKeys({ database, logger }) : undefined;
  const tokens = config.jwt && new KnownTokens({ config: config.jwt, logger });
  const proxy = config.proxy && new TrustedProxy(config.proxy);
  const watchTokens = new KnownWatchTokens({ database, logger });
  const authentication = new Authentication({ keys, tokens, proxy, watchTokens, addressOf });
  const ownerOf = createOwnerOf(authentication, addressOf);
  const rates = new RateLimits({
    caller: config.callerRates,
    tenant: config.tenantRates,
    ownerOf,
    setHeaders: (request, headers) => exchanges.setHeaders(request, headers),
  });
  const operations = new Operations({
    logger,
    maxTokens: config.maxQueryTokens,
    maxActive: config.maxRequests,
    rates,
  });
  // A single caller or tenant can't use up the server's requests.
  const mostOfOne = Math.ceil(config.maxRequests * 0.9);
  const exchanges = new Exchanges({
    bytes: quotas.bytes,
    ownerOf,
    stalls,
    requests: new Quota({ mostPerCaller: mostOfOne, mostPerTenant: mostOfOne, most: config.maxRequests }),
    maxRequestBytes: config.maxRequestBytes,
  });
  const strangers = new Exchanges({
    bytes: new Quota({ mostPerCaller: config.callerBytes, most: config.maxBytesUnderWay }),
    ownerOf,
    stalls,
    requests: new Quota({ mostPerCaller: strangersPerAddress, most: mostStrangers }),
    maxRequestBytes: config.maxRequestBytes,
  });
  const costs = new SubscriptionCosts({
    most: config.callerSubscriptionCost,
    places: new Quota({
      mostPerCaller: (owner) => limitOf(owner, 'subscriptions', config.callerRates.subscriptions),
      mostPerTenant: config.tenantRates.subscriptions ?? Number.POSITIVE_INFINITY,
    }),
    ownerOf,
  });
  const streams = new EventStreams({ authentication, ownerOf, connections: quotas.connections });
  const { maxQueryCost, maxAnswerBytes } = config;
  const audit = new Audit({ logger });
  const { maxRequestBytes, maxJsonBytes, maxUploadBytes } = config;
  const certificate =
    config.tls && new Certificate({ files: config.tls, logger, everyMs: times?.certificateMs });
  const problem = () => certificate?.problem;
  const examiner = new Examiner({ config, database, problem });
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
    audit,
    uploads,
    examiner,
    maxQueryCost,
    maxAnswerBytes,
    server,
    endOf: Right.endOf,
  };
  const yoga = createGraphQL({
    config,
    services,
    operations,
    rates,
    costs,
    streams,
    exchanges,
    authentication,
    ownerOf,
    peerOf: createPeerOf(config.trustedProxies),
    bytes: quotas.bytes,
  });
  const callerOf = (request: IncomingMessage) => authentication.rightOf(request)?.caller ?? nobody;
  const guard = createGuard({ ...config, ownHost: config.host });
  const http = new Http({
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
    maskError: operations.maskError,
    metrics: createMetrics({
      engine,
      callerOf,
      isOn: config.metrics,
      mostTypes: config.metricsTypes,
      logger,
    }),
    exchanges,
    rates,
    strangers,
    pages: [
      createGraphiQL({ endpoint: yoga.graphqlEndpoint, isShown: config.graphiql }),
      ...createDashboard(config),
    ],
    results: createResults({
      database,
      callerOf,
      ownerOf,
      take: (request, bytes) => exchanges.take(request, bytes),
      closing: lifetime.closing,
      logger,
    }),
    uploads: createUploads({
      uploads,
      callerOf,
      store: uploadStore,
      ownerOf,
      isClosing: () => lifetime.isClosing,
      logger,
    }),
    uploadBytes: uploads.streamedBytes,
    multipartPost: createMultipartPost({ yoga, operations, rates, store: uploadStore, callerOf, ownerOf }),
    jsonPost: createJsonPost({ yoga, operations, rates, ownerOf, maxBytes: config.maxRequestBytes }),
    yoga,
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
    maskError: operations.maskError,
    times,
    logger,
  });

  const migrateFirst = () =>
    migrate({
      url: directUrl,
      onApply: (migration) => logger.info({ migration }, 'applying migration'),
      onBlocked: (migration) =>
        logger.warn({ migration }, 'a migration is waiting for locks that other sessions hold; trying again'),
      waitMs: startTime.leftMs,
    });
  const requestsEnd = async () => {
    await Promise.race([operations.idle(), lifetime.timeIsUp]);
    // Operations that have finished are answered in this turn of the event loop; requests that were just read start to execute.
    await nextTurn();
    await Promise.race([operations.idle(), lifetime.timeIsUp]);
    await nextTurn();
  };
  const stopListening = () => {
    lifetime.close();
    http.stopListening();
  };

  // Started from top to bottom, stopped from bottom to top. Connections end before what they watch: if a subscription ended first, its client
  // would take that for its normal end.
  const parts = new Parts(
    [
      { name: 'certificate', start: () => http.readCertificate(), stop: () => certificate?.stop() },
      { name: 'migrations', start: migrateFirst },
      { name: 'transport', start: () => startTime.allow(transport.start()), stop: () => transport.close() },
      {
        name: 'pools of connections',
        start: () => database.open(startTime.leftMs),
        stop: () => database.close(),
      },
      { name: 'health probe', start: () => probe.ask(), stop: () => probe.close() },
      { name: 'folds', stop: () => folds.close() },
      { name: 'examiner', stop: () => examiner.close() },
      { name: 'hub', stop: () => hub.close() },
      { name: 'work hints', stop: () => hints.close() },
      { name: 'room watch', stop: () => rooms.close() },
      { name: 'figures', start: () => bookkeeper.start(), stop: () => bookkeeper.stop() },
      { name: 'API keys', start: () => keys?.start(), stop: () => keys?.stop() },
      { name: 'watch tokens', start: () => watchTokens.start(), stop: () => watchTokens.stop() },
      { name: 'object store', stop: () => store?.close() },
      { name: 'HTTP connections', stop: () => http.end() },
      { name: 'stalls', stop: () => stalls.close() },
      { name: 'exchanges', stop: () => exchanges.close() },
      { name: 'exchanges of strangers', stop: () => strangers.close() },
      { name: 'event streams', stop: () => streams.cut() },
      { name: 'WebSockets', stop: () => webSocket.close() },
      { name: 'requests under way', stop: requestsEnd },
      { name: 'sweeper', start: () => sweeper.start(), stop: () => sweeper.stop() },
      { name: 'schedules', start: () => scheduler.start(), stop: () => scheduler.stop() },
      { name: 'reaper', start: () => reaper.start(), stop: () => reaper.stop() },
      { name: 'importer', start: () => importer.start(), stop: () => importer.stop() },
      { name: 'removal of uploads', start: () => remover.start(), stop: () => remover.stop() },
      { name: 'callbacks', start: () => callbacks.start(), stop: () => callbacks.stop() },
      { name: 'HTTP', start: () => http.listen(config.port, config.host), stop: stopListening },
    ],
    logger,
  );
  return { lifetime, parts, http };
}
