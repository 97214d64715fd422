/**
 * The service, wired together in one place:
 *
 *   HTTP, WebSocket ─▶ schema ─▶ domain ─▶ Postgres
 *                        │          └─ effects ─▶ fold scheduler, work hints
 *                        └─ subscriptions ◀─ hub ◀─ transport ◀─ NOTIFY, or Redis
 */
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import { refuseOpen } from '../config/config.ts';
import { migrate } from '../db/migrate.ts';
import type { AppOptions } from './app-options.ts';
import { Lifetime } from './http/lifetime.ts';
import { type Part, Parts } from './parts.ts';
import { StartTime } from './start-time.ts';
import { wireBackground } from './wire-background.ts';
import { type Callers, wireCallers } from './wire-callers.ts';
import { wireEdge } from './wire-edge.ts';
import { type ServerEngine, wireEngine } from './wire-engine.ts';
import { type Events, wireEvents } from './wire-events.ts';

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

function wire(options: AppOptions) {
  const { config, logger } = options;
  const lifetime = new Lifetime(config.shutdownTimeoutMs);
  const startTime = new StartTime(config.startTimeoutMs);
  const unfinished = () => background.sweeper.poke();
  const events = wireEvents(options, unfinished);
  const engine = wireEngine(options, events, { unfinished, importable: () => background.importer.poke() });
  const background = wireBackground(options, engine);
  const callers = wireCallers(options, events.database);
  const { uploads } = background;
  const edge = wireEdge(options, { lifetime, events, engine, uploads, callers });
  const parts = new Parts(
    partsInOrder({ options, startTime, lifetime, events, engine, background, callers, edge }),
    logger,
  );
  return { lifetime, parts, http: edge.http };
}

interface Wired {
  readonly options: AppOptions;
  readonly startTime: StartTime;
  readonly lifetime: Lifetime;
  readonly events: Events;
  readonly engine: ServerEngine;
  readonly background: ReturnType<typeof wireBackground>;
  readonly callers: Callers;
  readonly edge: ReturnType<typeof wireEdge>;
}

/**
 * Started from top to bottom, stopped from bottom to top. Connections end before what they watch: if a subscription ended first, its
 * client would take that for its normal end.
 */
function partsInOrder({
  options,
  startTime,
  lifetime,
  events,
  engine,
  background,
  callers,
  edge,
}: Wired): Part[] {
  const { config, logger } = options;
  const { certificate, examiner, http, webSocket } = edge;
  const { database, folds, hints, hub, probe, rooms, transport } = events;
  const { bookkeeper, callbacks, importer, reaper, remover, scheduler, store, sweeper } = background;
  const { openRequests, keys, stalls, strangers, streams, watchTokens } = callers;
  const stopListening = () => {
    lifetime.close();
    http.stopListening();
  };
  const { parkedClaims } = engine;
  return [
    { name: 'certificate', start: () => http.readCertificate(), stop: () => certificate?.stop() },
    { name: 'migrations', start: () => migrateFirst(events.directUrl, startTime, logger) },
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
    { name: 'exchanges', stop: () => openRequests.close() },
    { name: 'exchanges of strangers', stop: () => strangers.close() },
    { name: 'event streams', stop: () => streams.cut() },
    { name: 'WebSockets', stop: () => webSocket.close() },
    { name: 'requests under way', stop: () => requestsEnd(callers.operations, lifetime) },
    { name: 'sweeper', start: () => sweeper.start(), stop: () => sweeper.stop() },
    { name: 'schedules', start: () => scheduler.start(), stop: () => scheduler.stop() },
    { name: 'reaper', start: () => reaper.start(), stop: () => reaper.stop() },
    { name: 'importer', start: () => importer.start(), stop: () => importer.stop() },
    { name: 'removal of uploads', start: () => remover.start(), stop: () => remover.stop() },
    { name: 'callbacks', start: () => callbacks.start(), stop: () => callbacks.stop() },
    // They would keep requests from ending.
    { name: 'parked claims', stop: () => parkedClaims.close() },
    { name: 'HTTP', start: () => http.listen(config.port, config.host), stop: stopListening },
  ];
}

function migrateFirst(url: string, startTime: StartTime, logger: Logger) {
  return migrate({
    url,
    onApply: (migration) => logger.info({ migration }, 'applying migration'),
    onBlocked: (migration) =>
      logger.warn({ migration }, 'a migration is waiting for locks that other sessions hold; trying again'),
    waitMs: startTime.leftMs,
  });
}

async function requestsEnd(operations: Callers['operations'], lifetime: Lifetime): Promise<void> {
  await Promise.race([operations.idle(), lifetime.timeIsUp]);
  // Operations that have finished are answered in this turn of the event loop; requests that were just read start to execute.
  await nextTurn();
  await Promise.race([operations.idle(), lifetime.timeIsUp]);
  await nextTurn();
}
