/**
 * Deletes trees whose retention is over. Every server does it, in small batches and for a part of the time, so that whoever works on other
 * trees hardly feels it: what is marked is in the database, so others go on with what a server that dies was at.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Engine } from '../domain/engine.ts';
import { reapSome } from '../domain/retention.ts';

/** So often it looks for what is due. */
const pollMs = 1_000;
/** Postgres works on it for so much of the time. */
const share = 1 / 4;

export class Reaper {
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
    const rest = (tookMs: number) => this.#pause(tookMs * (1 / share - 1));
    while (!signal.aborted) {
      let more = false;
      try {
        more = await reapSome(this.#engine, rest, signal);
      } catch (error) {
        this.#logger.warn({ err: error }, 'trees could not be reaped; it is tried again');
      }
      if (!more) await this.#pause(pollMs);
    }
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
  }
}
