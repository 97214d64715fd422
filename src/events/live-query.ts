/**
 * A query that a subscription asks again and again: this tells when. Whoever executes it compares the answers, so readers hear only of changes.
 * It is asked again when something has changed, and from time to time anyway. Asking takes up at most a tenth of the time.
 */

import { Signal } from '../concurrency/signal.ts';
import { Live } from './live.ts';

/** Without a sign of change it is asked again after this time. */
const silenceMs = 2_000;
const askingShare = 0.1;

export class LiveQuery extends Live<object> {
  readonly #everyMs: number;
  readonly #onClose: (query: LiveQuery) => void;
  readonly #signal = new Signal();
  #askedAt = Number.NEGATIVE_INFINITY;
  /** When the readers had the last answer. */
  #toldAt: number | undefined;
  #poked = false;
  #ended = false;
  /** Those who wait for an answer that is asked for after they came. */
  #waiting: (() => void)[] = [];

  constructor(options: { everyMs: number; onClose: (query: LiveQuery) => void }) {
    super(0);
    this.#everyMs = options.everyMs;
    this.#onClose = options.onClose;
    this.changed();
  }

  /** Something has changed. */
  poke(): void {
    this.#poked = true;
    this.#signal.fire();
  }

  override end(): void {
    this.#ended = true;
    this.#signal.fire();
    super.end();
  }

  override snapshot(): object {
    return {};
  }

  override get isWhole(): boolean {
    return true;
  }

  override refresh(): Promise<void> {
    return new Promise((resolve) => {
      if (this.isClosed) return resolve();
      this.#waiting.push(resolve);
      this.#signal.fire();
    });
  }

  override async next(): Promise<IteratorResult<object, undefined>> {
    if (this.edition > 0) {
      const now = performance.now();
      const leastMs = ((this.#toldAt ?? now) - this.#askedAt) / askingShare;
      this.#toldAt = undefined;
      await this.#wait(this.#askedAt + leastMs, () => false);
      await this.#wait(this.#askedAt + Math.max(this.#everyMs, leastMs), () => this.#waiting.length > 0);
      await this.#wait(performance.now() + silenceMs, () => this.#poked || this.#waiting.length > 0);
      if (!this.#ended) this.changed();
    }
    return super.next();
  }

  override rest(ms: number): Promise<void> {
    this.#toldAt = performance.now();
    return super.rest(ms);
  }

  protected override take(): object {
    this.#poked = false;
    this.#askedAt = performance.now();
    for (const resolve of this.#waiting.splice(0)) resolve();
    return {};
  }

  protected override onClose(): void {
    this.#signal.fire();
    for (const resolve of this.#waiting.splice(0)) resolve();
    this.#onClose(this);
  }

  async #wait(until: number, isOver: () => boolean): Promise<void> {
    for (let now = performance.now(); now < until; now = performance.now()) {
      if (this.isClosed || this.#ended || isOver()) return;
      await this.#signal.wait(until - now);
    }
  }
}
