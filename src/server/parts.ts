/**
 * The running parts of the server, in the order in which they start. They stop in reverse order, each after those that need it. A part that
 * fails to stop does not keep the others from stopping.
 */
import type { Logger } from 'pino';

export interface Part {
  readonly name: string;
  start?(): unknown;
  stop?(): unknown;
}

/** A part that takes longer than this to stop is named in the log. */
const slowMs = 5_000;

export class Parts {
  readonly #parts: readonly Part[];
  readonly #logger: Logger;
  #stopping: string | undefined;

  constructor(parts: readonly Part[], logger: Logger) {
    this.#parts = parts;
    this.#logger = logger;
  }

  /** The name of the part that is stopping now. */
  get stopping(): string | undefined {
    return this.#stopping;
  }

  /** If a part fails to start, all are stopped. */
  async start(): Promise<void> {
    try {
      for (const part of this.#parts) await part.start?.();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Stops all parts, even those that were not started. */
  async stop(): Promise<void> {
    for (const part of this.#parts.toReversed()) {
      this.#stopping = part.name;
      const slow = setInterval(() => {
        this.#logger.warn({ part: part.name }, 'this part of the server is slow to stop');
      }, slowMs).unref();
      try {
        await part.stop?.();
      } catch (error) {
        this.#logger.error({ err: error, part: part.name }, 'this part of the server failed to stop');
      } finally {
        clearInterval(slow);
      }
    }
    this.#stopping = undefined;
  }
}
