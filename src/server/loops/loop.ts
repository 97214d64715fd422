/** A background loop of the server: it looks for work, waits, and looks again. A look that fails is logged and tried again later. */
import { setMaxListeners } from 'node:events';
import type { Logger } from 'pino';
import { Signal } from '../../concurrency/signal.ts';

/** How often a loop looks if nobody wakes it. */
export const pollMs = 1_000;

export class Loop {
  readonly #look: (signal: AbortSignal) => Promise<number>;
  readonly #logger: Logger;
  readonly #failure: string;
  readonly #retryMs: number;
  readonly #stopped = new AbortController();
  readonly #woken = new Signal();
  /** Poked since its last look began. */
  #isPoked = false;
  #running: Promise<void> | undefined;

  constructor(options: {
    /** Resolves to how long to wait until the next look, in milliseconds. The signal aborts when the server stops. */
    look: (signal: AbortSignal) => Promise<number>;
    logger: Logger;
    /** The log message for a look that failed. */
    failure: string;
    retryMs?: number;
  }) {
    // Everything under way may listen to it.
    setMaxListeners(0, this.#stopped.signal);
    this.#look = options.look;
    this.#logger = options.logger;
    this.#failure = options.failure;
    this.#retryMs = options.retryMs ?? pollMs;
  }

  get signal(): AbortSignal {
    return this.#stopped.signal;
  }

  get hasStarted(): boolean {
    return this.#running !== undefined;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Makes it look at once, or once more if it is looking now. */
  poke(): void {
    this.#isPoked = true;
    this.#woken.fire();
  }

  /** Resolves once the last look has ended. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#woken.fire();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      this.#isPoked = false;
      let waitMs = this.#retryMs;
      try {
        waitMs = await this.#look(signal);
      } catch (error) {
        this.#logger.warn({ err: error }, this.#failure);
      }
      if (waitMs > 0 && !this.#isPoked && !signal.aborted) await this.#woken.wait(waitMs);
    }
  }
}
