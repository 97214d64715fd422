/**
 * What a server does over and over, beside answering: it looks for work, waits, and looks again. A look that fails is logged, and tried
 * again after a while.
 */
import { setMaxListeners } from 'node:events';
import type { Logger } from 'pino';
import { Signal } from '../events/signal.ts';

/** So often a loop looks that nobody wakes. */
export const pollMs = 1_000;

export class Loop {
  readonly #look: (signal: AbortSignal) => Promise<number>;
  readonly #logger: Logger;
  readonly #failure: string;
  readonly #retryMs: number;
  readonly #stopped = new AbortController();
  readonly #woken = new Signal();
  /** Something may be new since it looked last. */
  #isPoked = false;
  #running: Promise<void> | undefined;

  constructor(options: {
    /** Resolves to how long to wait then, in milliseconds. The signal says that the server stops. */
    look: (signal: AbortSignal) => Promise<number>;
    logger: Logger;
    /** What the log says of a look that failed. */
    failure: string;
    retryMs?: number;
  }) {
    // Each of what is under way may listen to it.
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

  /** Has it look at once, or once more if it is looking. */
  poke(): void {
    this.#isPoked = true;
    this.#woken.fire();
  }

  /** Resolves once it does not look any more. */
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
