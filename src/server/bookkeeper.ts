/**
 * Saves now and then what this server keeps in memory for others to read: figures, and which workers it has. What is not saved when the
 * process is killed is lost; a server that stops in good order saves all of it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Engine } from '../domain/engine.ts';

const saveEveryMs = 10_000;
const pruneEveryMs = 600_000;
const pruneBatch = 5_000;

export class Bookkeeper {
  readonly #engine: Engine;
  readonly #logger: Logger;
  readonly #stopped = new AbortController();
  #loop: Promise<void> | undefined;
  #pruneAt = 0;

  constructor(options: { engine: Engine; logger: Logger }) {
    this.#engine = options.engine;
    this.#logger = options.logger;
  }

  start(): void {
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    if (this.#loop === undefined) return;
    this.#stopped.abort();
    await this.#loop;
    await this.#save();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      await this.#save();
      await delay(saveEveryMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #save(): Promise<void> {
    const { database, figures, workers } = this.#engine;
    try {
      await figures.save(database);
      await workers.save(database);
      if (performance.now() >= this.#pruneAt) {
        const [row] = await database.call<{ prune_figures: number }>('prune_figures', pruneBatch);
        if (row?.prune_figures !== pruneBatch) this.#pruneAt = performance.now() + pruneEveryMs;
      }
    } catch (error) {
      this.#logger.warn({ err: error }, 'figures could not be saved; it is tried again');
    }
  }
}
