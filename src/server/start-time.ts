/** The time that a start may wait for connections while Postgres has none free; all parts share it. */
import { setTimeout as delay } from 'node:timers/promises';
import { UnavailableError } from '../errors.ts';

export class StartTime {
  readonly #until: number;

  constructor(ms: number) {
    this.#until = performance.now() + ms;
  }

  get leftMs(): number {
    return Math.max(0, this.#until - performance.now());
  }

  /** Fails if the part takes longer than the time left, but gives it a few seconds, in which a free Postgres answers. */
  async allow(start: Promise<void>): Promise<void> {
    const over = new AbortController();
    const timeIsUp = delay(Math.max(fewMs, this.leftMs), undefined, { signal: over.signal }).then(() => {
      throw new UnavailableError('Postgres has no free connection.');
    });
    await Promise.race([start, timeIsUp]).finally(() => over.abort());
  }
}

const fewMs = 5_000;
