import fc from 'fast-check';
import { expect, it } from 'vitest';
import { bucketOf, Histogram, lowerBoundMs } from '../../../src/domain/figures/histogram.ts';

const longestMs = 2 ** 31 - 1;

it('a bucket is at most an eighth wider than its shortest duration, and buckets have no gaps', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: longestMs }), (ms) => {
      const bucket = bucketOf(ms);
      const [lower, next] = [lowerBoundMs(bucket), lowerBoundMs(bucket + 1)];
      expect(lower).toBeLessThanOrEqual(ms);
      expect(next).toBeGreaterThan(ms);
      expect(next - lower).toBeLessThanOrEqual(Math.max(1, lower / 8));
    }),
  );
});

it.each([
  [-5, 0],
  [0.9, 0],
  [longestMs * 10, bucketOf(longestMs)],
  [Number.MAX_SAFE_INTEGER, bucketOf(longestMs)],
])('%d ms counts in bucket %d', (ms, bucket) => {
  expect(bucketOf(ms)).toBe(bucket);
});

it('quantiles are those of the durations, within an eighth', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 1_000_000 }), { minLength: 1, maxLength: 200 }),
      fc.constantFrom(0.5, 0.95, 0.99, 1),
      (durations, share) => {
        const histogram = new Histogram();
        for (const ms of durations) histogram.add(ms);
        const exact = durations.toSorted((a, b) => a - b)[Math.ceil(share * durations.length) - 1] as number;
        expect(Math.abs((histogram.quantileMs(share) as number) - exact)).toBeLessThanOrEqual(exact / 8);
      },
    ),
  );
  expect(new Histogram().quantileMs(0.5)).toBe(undefined);
});

it('counts of several histograms add up', () => {
  const [one, other, both] = [new Histogram(), new Histogram(), new Histogram()];
  one.add(5, 3);
  other.add(900, 1);
  for (const histogram of [one, other])
    for (const [bucket, count] of histogram.buckets()) both.addTo(bucket, count);
  expect([both.count, both.quantileMs(0.5), both.quantileMs(1)]).toEqual([4, 5, expect.any(Number)]);
  expect(both.quantileMs(1)).toBeGreaterThanOrEqual(896);
});
