/**
 * Sweeps at an interval: what time brings about, and what a crashed server left behind. Every server does it, and several
 * at once do no harm: the function skips what another one has.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Engine } from '../domain/engine.ts';
import { sweep } from '../domain/sweep.ts';

/** From time to time everything is looked at, also what the low-water mark leaves out. */
const fullEveryMs = 600_000;

export class Sweeper {
  readonly #engine: Engine;
  readonly #intervalMs: number;
  readonly #logger: Logger;
  readonly #stopped = new AbortController();
  #loop: Promise<void> | undefined;

  constructor(options: { engine: Engine; intervalMs: number; logger: Logger }) {
    this.#engine = options.engine;
    this.#intervalMs = options.intervalMs;
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
    let deadlineFrom: Date | null = null;
    let fullAt = Date.now() + fullEveryMs;
    while (!this.#stopped.signal.aborted) {
      let more = false;
      try {
        if (Date.now() >= fullAt) {
          deadlineFrom = null;
          fullAt = Date.now() + fullEveryMs;
        }
        const swept = await sweep(this.#engine, deadlineFrom);
        ({ deadlineFrom, more } = swept);
        if (swept.lost > 0) this.#logger.warn({ items: swept.lost }, 'heartbeats were lost');
      } catch (error) {
        this.#logger.warn({ err: error }, 'sweep failed; it is tried again');
      }
      if (!more)
        await delay(this.#intervalMs, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
    }
  }
}
