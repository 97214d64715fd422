/** What works in the background, and the files that it imports and removes. */
import { Uploads } from '../domain/files/uploads.ts';
import { S3Store } from '../object-store/s3.ts';
import type { AppOptions } from './app-options.ts';
import { Bookkeeper } from './loops/bookkeeper.ts';
import { Callbacks } from './loops/callbacks.ts';
import { Importer } from './loops/importer.ts';
import { createReaper } from './loops/reaper.ts';
import { createRemover } from './loops/remover.ts';
import { createScheduler } from './loops/scheduler.ts';
import { Sweeper } from './loops/sweeper.ts';
import type { ServerEngine } from './wire-engine.ts';

export function wireBackground({ config, logger, times }: AppOptions, engine: ServerEngine) {
  const store =
    config.uploadStore && new S3Store({ config: config.uploadStore, logger, limitMs: times?.storeMs });
  const { database, stored } = engine;
  const uploads = new Uploads({ database, store, lifetimeMs: config.uploadLifetimeMs, stored });
  return {
    store,
    uploads,
    sweeper: new Sweeper({ engine, intervalMs: config.sweepIntervalMs, logger }),
    scheduler: createScheduler({ engine, logger }),
    reaper: createReaper({ engine, auditRetentionSeconds: config.auditRetentionSeconds, logger }),
    bookkeeper: new Bookkeeper({ engine, logger }),
    remover: createRemover({ uploads, logger }),
    importer: new Importer({ engine, uploads, maxTextBytes: config.maxFileTextBytes, logger }),
    callbacks: new Callbacks({ engine, timeoutMs: config.callbackTimeoutMs, logger }),
  };
}
