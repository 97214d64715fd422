/**
 * Makes the trees of schedules when they are due. Every server does it, and whoever comes first makes the tree; so an occurrence is late
 * only if no server runs.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Engine } from '../domain/engine.ts';
import { fireSchedules } from '../domain/fire-schedules.ts';

/** So often it looks for schedules that others have changed, for what is queued, and again at what failed. */
const pollMs = 1_000;

export class Scheduler {
  readonly #engine: Engine;
  readonly #logger: Logger;
  readonly #stopped = new AbortController();
  #loop: Promise<void> | undefined;

  constructor(options: { engine: Engine; logger: Logger }) {
    this.#engine = options.engine;
    this.#logger = options.logger;
  }

  start(): void {
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      let waitMs = pollMs;
      try {
        const fired = await fireSchedules(this.#engine, signal);
        if (!fired.failed) waitMs = Math.min(pollMs, fired.waitMs);
      } catch (error) {
        this.#logger.warn({ err: error }, 'schedules could not be looked at; it is tried again');
      }
      await delay(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }
}
