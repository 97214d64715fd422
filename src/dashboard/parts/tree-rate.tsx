/** How fast the items of a tree end, and how long the rest may take: from what the list is told anyway, so the server is asked nothing. */
import { useEffect, useState } from 'react';
import { useFreshness } from '../data/live.ts';
import { useTexts } from '../texts/all.ts';

/** What was told in this time counts. */
const spanMs = 60_000;
/** A shorter time says little. */
const leastMs = 2_000;
/** What no longer moves gets slower, too. */
const tickMs = 5_000;
/** However often a tree changes, it has no more samples than this allows. */
const betweenMs = 2_000;

interface Sample {
  readonly at: number;
  readonly done: number;
}

/** `left`: how many items are to go, unless more may come. */
export default function TreeRate({ done, left }: { done: number; left: number | undefined }) {
  const t = useTexts();
  const { isPaused, awaySince } = useFreshness();
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  useEffect(() => {
    const add = () => setSamples((before) => next(before, { at: performance.now(), done }));
    add();
    if (isPaused || awaySince !== undefined) return;
    const timer = setInterval(add, tickMs);
    return () => clearInterval(timer);
  }, [done, isPaused, awaySince]);
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || last.at - first.at < leastMs || last.done === first.done)
    return null;
  const perSecond = (1_000 * (last.done - first.done)) / (last.at - first.at);
  const timeLeft = left === undefined || left === 0 ? '' : `, ${t.strip.timeLeft(left / perSecond)}`;
  return `, ${t.strip.perSecond(perSecond)}${timeLeft}`;
}

/** The samples of the span, and the last one before it. After a replay it begins anew. */
function next(before: readonly Sample[], sample: Sample): readonly Sample[] {
  if ((before.at(-1)?.done ?? 0) > sample.done) return [sample];
  const first = before.findLastIndex(({ at }) => at <= sample.at - spanMs);
  const isSoon = sample.at - (before.at(-2)?.at ?? Number.NEGATIVE_INFINITY) < betweenMs;
  return [...before.slice(Math.max(0, first), isSoon ? -1 : undefined), sample];
}
