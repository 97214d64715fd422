/**
 * The service, wired together in one place:
 *
 *   HTTP, WebSocket ─▶ schema ─▶ domain ─▶ Postgres
 *                        │          └─ effects ─▶ fold scheduler, work hints
 *                        └─ subscriptions ◀─ hub ◀─ transport ◀─ NOTIFY, or Redis
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { Database } from '../db/database.ts';
import { migrate } from '../db/migrate.ts';
import { createEngine } from '../domain/create-engine.ts';
import { FoldScheduler } from '../events/fold-scheduler.ts';
import { Hub } from '../events/hub.ts';
import { LiveTransport } from '../events/transport.ts';
import { WorkHints } from '../events/work-hints.ts';
import { createAddressOf } from './addresses.ts';
import { EventStreams } from './event-streams.ts';
import { Exchanges } from './exchanges.ts';
import { createGraphiQL } from './graphiql.ts';
import { createGraphQL } from './graphql.ts';
import { createHealth } from './health.ts';
import { createJsonPost } from './json-post.ts';
import { Operations } from './operations.ts';
import { createGuard, type Refusal } from './origin.ts';
import { Quota } from './quota.ts';
import { createWaitFor } from './slow-steps.ts';
import { Stalls } from './stalls.ts';
import { SubscriptionCosts } from './subscription-costs.ts';
import { Sweeper } from './sweeper.ts';
import { SocketServer, type SocketServerOptions } from './websocket.ts';

/** A connection on which nothing of what waits to be sent has moved for so long is ended. */
const stalledAfterMs = 30_000;
/** A request has come entirely within the first, its headers within the second. */
const requestTimeouts = {
  requestTimeout: 120_000,
  headersTimeout: 20_000,
  connectionsCheckingInterval: 5_000,
};

export interface App {
  /** Where the API is: `http://127.0.0.1:4000/graphql`. */
  readonly url: string;
  /**
   * Says that it is not ready any more and goes on for the configured time; then stops accepting, lets requests finish
   * within the configured time, and closes everything.
   */
  close(): Promise<void>;
}

/** Starts the service on a database, which it first migrates. */
export async function createApp(options: {
  config: Config;
  databaseUrl: string;
  logger: Logger;
  /** For tests, which have less of it. */
  times?: SocketServerOptions['times'] & { stalledAfterMs?: number };
}): Promise<App> {
  const { config, databaseUrl, logger, times } = options;
  const directUrl = config.directDatabaseUrl ?? databaseUrl;
  await migrate({
    connectionString: directUrl,
    onApply: (migration) => logger.info({ migration }, 'applying migration'),
  });

  const database = new Database({
    url: databaseUrl,
    poolSize: config.poolSize,
    timeoutMs: config.databaseTimeoutMs,
    preparedStatements: config.preparedStatements,
    pooled: config.directDatabaseUrl !== undefined,
    onIdleError: (error) => logger.warn({ err: error }, 'a connection to Postgres broke'),
  });
  const folds = new FoldScheduler({ database, intervalMs: config.foldIntervalMs, logger });
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
      logger.warn('Postgres answers again: connections that may be dead are replaced');
      database.renewConnections(silentUntil);
    },
  });
  const hub = new Hub({ database, transport, logger });
  const hints = new WorkHints({ database, logger });
  const engine = createEngine({
    database,
    limits: { maxJsonBytes: config.maxJsonBytes },
    effects: {
      touched: (rootId, fromStart) => folds.touch(rootId, fromStart),
      ready: (counts) => hints.ready(counts),
      claimed: (type, taken, dry, startedAt) => hints.claimed(type, taken, dry, startedAt),
      unfinished: () => sweeper.poke(),
    },
    durableClaims: config.durableClaims,
    logger,
    logPayloads: config.logPayloads,
  });
  const sweeper = new Sweeper({ engine, intervalMs: config.sweepIntervalMs, logger });

  let ready = true;
  let closing = false;
  const isClosing = () => closing;
  const operations = new Operations({ logger, maxTokens: config.maxQueryTokens });
  const addressOf = createAddressOf(config.trustedProxies);
  const quotas = {
    connections: new Quota({ mostPerAddress: config.maxConnectionsPerAddress }),
    bytes: new Quota({ mostPerAddress: config.maxBytesPerAddress, most: config.maxBytesUnderWay }),
  };
  const stalls = new Stalls({ afterMs: times?.stalledAfterMs ?? stalledAfterMs });
  const exchanges = new Exchanges({
    bytes: quotas.bytes,
    addressOf,
    stalls,
    maxRequestBytes: config.maxRequestBytes,
  });
  const costs = new SubscriptionCosts({ most: config.maxSubscriptionCost, addressOf });
  const streams = new EventStreams({ addressOf, connections: quotas.connections });
  const yoga = createGraphQL({
    config,
    services: {
      engine,
      folds,
      hub,
      hints,
      maxQueryCost: config.maxQueryCost,
      maxAnswerBytes: config.maxAnswerBytes,
    },
    operations,
    costs,
    streams,
    exchanges,
  });
  const jsonPost = createJsonPost({ yoga, operations, maxBytes: config.maxRequestBytes });
  const health = createHealth({ database, transport, isReady: () => ready });
  const graphiql = createGraphiQL({ endpoint: yoga.graphqlEndpoint, isShown: config.graphiql });
  const guard = createGuard({ ...config, ownHost: config.host });
  const server = createServer(requestTimeouts, (request, response) => {
    // The last on its connection: the client comes again to another server.
    if (!ready) response.shouldKeepAlive = false;
    if (health(request, response)) return;
    if (closing) return refuse(response, { status: 503, text: 'The server is shutting down.' });
    const refusal = guard(request);
    if (refusal !== undefined) return refuse(response, refusal);
    if (!exchanges.begin(request, response) || graphiql(request, response)) return;
    if (!jsonPost(request, response)) void yoga(request, response);
  });
  const webSocket = new SocketServer({
    server,
    yoga,
    limits: {
      maxMessageBytes: config.maxRequestBytes,
      maxOperations: config.maxOperationsPerSocket,
      maxMessagesPerSecond: config.maxMessagesPerSecond,
    },
    addressOf,
    quotas,
    costs,
    stalls,
    guard,
    isClosing,
    maskError: operations.maskError,
    times,
    logger,
  });

  const close = async () => {
    ready = false;
    if (config.shutdownDelayMs > 0) await delay(config.shutdownDelayMs);
    await stop();
  };
  const waitFor = createWaitFor(logger);
  const stop = async () => {
    ready = false;
    closing = true;
    const closed = new Promise((resolve) => server.close(resolve));
    const timeIsUp = after(config.shutdownTimeoutMs);
    await waitFor('the sweeper', sweeper.stop());
    await waitFor('operations', Promise.race([operations.idle(), timeIsUp]));
    // What was executed is answered in this turn of the event loop; what was just read is executed.
    await setImmediate();
    await Promise.race([operations.idle(), timeIsUp]);
    await setImmediate();
    // First the connections: a subscription that just ended would seem to have come to its end.
    await waitFor('WebSockets', webSocket.close());
    streams.cut();
    exchanges.close();
    stalls.close();
    hub.close();
    hints.close();
    server.closeIdleConnections();
    await waitFor('HTTP connections', Promise.race([closed, timeIsUp]));
    server.closeAllConnections();
    await closed;
    await waitFor('folds', folds.close());
    await waitFor('the transport', transport.close());
    await waitFor('Postgres', database.close());
  };

  try {
    await transport.start();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(config.port, config.host, resolve);
    });
  } catch (error) {
    await stop();
    throw error;
  }
  sweeper.start();
  const { port } = server.address() as AddressInfo;
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return { url: `http://${host}:${port}/graphql`, close };
}

function refuse(response: ServerResponse, { status, text }: Refusal): void {
  response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(`${text}\n`);
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
