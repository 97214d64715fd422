/**
 * Saves what this server collects in memory for others to read: figures, and its list of workers. A killed process loses what it has not saved;
 * a server that stops in good order saves everything.
 */
import type { Logger } from 'pino';
import type { Engine } from '../../domain/engine/engine.ts';
import { pruneFigures } from '../../domain/figures/figures.ts';
import { Loop } from './loop.ts';

const saveEveryMs = 10_000;
const pruneEveryMs = 600_000;
const failure = 'figures could not be saved; trying again';

export class Bookkeeper {
  readonly #engine: Engine;
  readonly #logger: Logger;
  readonly #loop: Loop;
  #pruneAt = 0;

  constructor({ engine, logger }: { engine: Engine; logger: Logger }) {
    this.#engine = engine;
    this.#logger = logger;
    const look = async () => {
      await this.#save();
      return saveEveryMs;
    };
    this.#loop = new Loop({ look, logger, failure, retryMs: saveEveryMs });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    if (!this.#loop.hasStarted) return;
    await this.#loop.stop();
    try {
      await this.#save();
    } catch (error) {
      this.#logger.warn({ err: error }, failure);
    }
  }

  async #save(): Promise<void> {
    const { database, figures, workers } = this.#engine;
    await figures.save(database);
    await workers.save(database);
    if (performance.now() < this.#pruneAt) return;
    if (!(await pruneFigures(database))) this.#pruneAt = performance.now() + pruneEveryMs;
  }
}
