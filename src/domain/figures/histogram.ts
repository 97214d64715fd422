/**
 * Counts durations in fixed buckets, so that those of many servers and minutes can be added up. Below 8 ms a bucket is a
 * millisecond wide; above, an eighth of a power of two, so a value read from it is off by at most an eighth. Durations of about
 * 24 days or more count as that long.
 */

const longestMs = 2 ** 31 - 1;

/** The bucket of a duration in milliseconds. */
export function bucketOf(ms: number): number {
  const whole = Math.min(Math.max(Math.floor(ms), 0), longestMs);
  if (whole < 8) return whole;
  const exponent = 31 - Math.clz32(whole);
  return (exponent - 2) * 8 + ((whole >>> (exponent - 3)) & 7);
}

/** The shortest duration of a bucket, in milliseconds. */
export function lowerBoundMs(bucket: number): number {
  return bucket < 8 ? bucket : (8 + (bucket & 7)) * 2 ** ((bucket >> 3) - 1);
}

export class Histogram {
  readonly #counts = new Map<number, number>();
  #count = 0;
  #sumMs = 0;

  add(ms: number, count = 1): void {
    this.addTo(bucketOf(ms), count);
    this.#sumMs += ms * count;
  }

  /** Adds the count of a bucket of another histogram. */
  addTo(bucket: number, count: number): void {
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + count);
    this.#count += count;
  }

  get count(): number {
    return this.#count;
  }

  /** The sum of everything given to `add`. */
  get sumMs(): number {
    return this.#sumMs;
  }

  /** The buckets that are not empty, from the shortest durations to the longest. */
  buckets(): [bucket: number, count: number][] {
    return [...this.#counts].sort(([a], [b]) => a - b);
  }

  /** The same in fewer buckets, each from a power of two to the next: the shortest duration of each, in milliseconds, and its count. */
  octaves(): [fromMs: number, count: number][] {
    const counts = new Map<number, number>();
    for (const [bucket, count] of this.buckets()) {
      const lower = lowerBoundMs(bucket);
      const from = lower === 0 ? 0 : 2 ** Math.floor(Math.log2(lower));
      counts.set(from, (counts.get(from) ?? 0) + count);
    }
    return [...counts];
  }

  /** The duration in milliseconds that this share of all (0 to 1) did not exceed; undefined if nothing was counted. */
  quantileMs(share: number): number | undefined {
    const rank = Math.max(1, Math.ceil(share * this.#count));
    let before = 0;
    for (const [bucket, count] of this.buckets()) {
      if (before + count >= rank) {
        const lower = lowerBoundMs(bucket);
        const width = lowerBoundMs(bucket + 1) - 1 - lower;
        return Math.round(lower + (width * (rank - before)) / count);
      }
      before += count;
    }
    return undefined;
  }
}
