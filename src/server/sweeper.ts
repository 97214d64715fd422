/**
 * Sweeps at an interval: what time brings about, and what a crashed server left behind. Every server does it, and several
 * at once do no harm: the function skips what another one has.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { cancelItems } from '../domain/cancel-job.ts';
import type { Engine } from '../domain/engine.ts';
import { type SweepMarks, sweep } from '../domain/sweep.ts';

/**
 * Besides, for what the marks leave out: a hold that a long transaction had locked, or that one made and committed late.
 * To read all deadlines from the first on takes long where many assignments are kept, so that is done once a day.
 */
const widerEveryMs = 600_000;
const widerByMs = 3_600_000;
const allEveryMs = 86_400_000;

export class Sweeper {
  readonly #engine: Engine;
  readonly #intervalMs: number;
  readonly #logger: Logger;
  readonly #stopped = new AbortController();
  #marks: SweepMarks = { deadlineFrom: null, deltaSeen: null };
  #allAt = Date.now() + allEveryMs;
  #widerAt = Date.now() + widerEveryMs;
  #loop: Promise<void> | undefined;
  /** Cancelled jobs that the sweep before told of: who cancels them had an interval to finish. */
  #cancelling: ReadonlySet<string> = new Set();
  #finishing: Promise<void> | undefined;

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
    await this.#finishing;
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      let more = false;
      try {
        more = await this.#sweep();
      } catch (error) {
        this.#logger.warn({ err: error }, 'sweep failed; it is tried again');
      }
      if (!more)
        await delay(this.#intervalMs, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
    }
  }

  async #sweep(): Promise<boolean> {
    const { lost, cancelling, next, more } = await sweep(this.#engine, this.#widened(Date.now()));
    this.#marks = next;
    if (lost > 0) this.#logger.warn({ items: lost }, 'heartbeats were lost');
    const left = cancelling.filter((jobId) => this.#cancelling.has(jobId));
    this.#cancelling = new Set(cancelling);
    if (left.length > 0) {
      this.#finishing ??= this.#cancel(left).finally(() => {
        this.#finishing = undefined;
      });
    }
    return more;
  }

  #widened(now: number): SweepMarks {
    const { deadlineFrom, deltaSeen } = this.#marks;
    if (now >= this.#allAt) {
      this.#allAt = now + allEveryMs;
      return { deadlineFrom: null, deltaSeen };
    }
    if (now >= this.#widerAt && deadlineFrom !== null) {
      this.#widerAt = now + widerEveryMs;
      return { deadlineFrom: new Date(deadlineFrom.getTime() - widerByMs), deltaSeen };
    }
    return this.#marks;
  }

  /** Beside the sweeps, since a job can have very many items. What it counts, a later sweep finds. */
  async #cancel(jobIds: readonly string[]): Promise<void> {
    try {
      for (const jobId of jobIds) {
        const cancelled = await cancelItems(this.#engine, jobId, this.#stopped.signal);
        if (cancelled > 0)
          this.#logger.warn({ jobId, items: cancelled }, 'a cancellation was left unfinished');
      }
    } catch (error) {
      this.#logger.warn({ err: error }, 'cancelling items failed; it is tried again');
    }
  }
}
