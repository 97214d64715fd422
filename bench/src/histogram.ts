/** How often each duration was seen, by tenths of milliseconds. */
export type Counts = Readonly<Record<number, number>>;

/** How often each duration was seen, to a tenth of a millisecond: small, and easy to add to another one. */
export class Histogram {
  readonly #counts: number[] = [];

  add(ms: number): void {
    const bucket = Math.max(0, Math.round(ms * 10));
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
  }

  merge(counts: Counts): void {
    for (const [bucket, count] of Object.entries(counts)) {
      this.#counts[Number(bucket)] = (this.#counts[Number(bucket)] ?? 0) + count;
    }
  }

  get size(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  /** The duration in milliseconds that a share of all does not exceed. */
  quantile(share: number): number {
    let left = this.size * share;
    for (const [bucket, count = 0] of this.#counts.entries()) {
      left -= count;
      if (left <= 0 && count > 0) return bucket / 10;
    }
    return Number.NaN;
  }

  toJSON(): Counts {
    return { ...this.#counts };
  }
}
