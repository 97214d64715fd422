/** A token bucket: so many messages per second, and as many at once after a rest. */
export class TokenBucket {
  readonly #perSecond: number;
  #tokens: number;
  #at = performance.now();

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#tokens = perSecond;
  }

  take(messages = 1): void {
    this.#refill();
    this.#tokens -= messages;
  }

  /** How many milliseconds to wait before the next message. */
  restMs(): number {
    this.#refill();
    return Math.max(0, (-this.#tokens / this.#perSecond) * 1_000);
  }

  #refill(): void {
    const now = performance.now();
    this.#tokens = Math.min(this.#perSecond, this.#tokens + ((now - this.#at) / 1_000) * this.#perSecond);
    this.#at = now;
  }
}
