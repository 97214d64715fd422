/** The domain, with its limits and with what it sets in motion. */
import { CallbackAddresses } from '../domain/callbacks/addresses.ts';
import { SecretBox } from '../domain/callbacks/secret-box.ts';
import { createEngine } from '../domain/create-engine.ts';
import type { AppOptions } from './app-options.ts';
import type { Events } from './wire-events.ts';

export type ServerEngine = ReturnType<typeof wireEngine>;

export function wireEngine(
  { config, logger, lookUp }: AppOptions,
  { database, folds, hints, rooms }: Events,
  background: { readonly unfinished: () => void; readonly importable: () => void },
) {
  return createEngine({
    database,
    limits: { maxJsonBytes: config.maxJsonBytes },
    secrets: new SecretBox(config.secretsKeys),
    tenantStored: config.tenantStored,
    callbackAddresses: new CallbackAddresses({ networks: config.callbackNetworks, lookUp }),
    effects: {
      touched: (rootId, fromStart) => folds.touch(rootId, fromStart),
      started: (rootId) => folds.started(rootId),
      ready: (counts) => hints.ready(counts),
      claimed: (type, taken, dry, startedAt) => hints.claimed(type, taken, dry, startedAt),
      limited: (type, againInMs) => {
        hints.limited(type);
        rooms.lookIn(type, againInMs);
      },
      awaited: (claim) => hints.awaited(claim),
      ...background,
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
}
