/** From Postgres to everybody who waits: pools of connections, folds, the transport, what watchers and workers are told. */
import { Database } from '../db/database.ts';
import { Probe } from '../db/probe.ts';
import { FoldScheduler } from '../events/fold-scheduler.ts';
import { Hub } from '../events/hub.ts';
import { RoomWatch } from '../events/room-watch.ts';
import { LiveTransport } from '../events/transport.ts';
import { WorkHints } from '../events/work-hints.ts';
import type { AppOptions } from './app-options.ts';

export type Events = ReturnType<typeof wireEvents>;

/** `onUnfinished`: there are items that only a sweep finishes. */
export function wireEvents({ config, databaseUrl, logger }: AppOptions, onUnfinished: () => void) {
  const directUrl = config.directDatabaseUrl ?? databaseUrl;
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
  const folds = new FoldScheduler({ database, intervalMs: config.foldIntervalMs, logger, onUnfinished });
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
  return { directUrl, database, probe, folds, transport, hub, hints, rooms };
}
