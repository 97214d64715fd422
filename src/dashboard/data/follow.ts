/**
 * What is read follows what is pushed: when pushed counts change, what depends on them is read again. At once after a quiet time, then as often as its cost
 * allows, and once more after the last change. What nothing is told of, such as which items run, is read now and then as long as it may change. A page
 * that nobody sees, or that is paused, reads nothing.
 */
import { useEffect, useState } from 'react';
import { useFreshness } from './live.ts';

export interface Pushed {
  /** Another one whenever what was read may have changed; undefined as long as nothing was pushed. */
  readonly mark: string | undefined;
  /** Whether it may change without that. */
  readonly isOpen: boolean;
}

interface Query {
  readonly isFetching: boolean;
  refetch(): Promise<{ readonly isFetching: boolean }>;
}

/** From one read to the next, at least. */
const leastMs = 2_000;
const silenceMs = 10_000;
/** What is expensive to read, because there is much of it, is read more rarely: it takes up at most these shares of the time. */
const share = { changing: 0.1, silent: 0.02 };

/** Reads a query again when the mark is no longer that with which it was first shown, and after a pause. */
export function useFollowing(query: Query, { mark, isOpen }: Pushed): void {
  const { isPaused } = useFreshness();
  const [follower] = useState(() => new Follower(mark));
  follower.query = query;
  useEffect(() => (isPaused ? undefined : follower.start()), [follower, isPaused]);
  // A read by somebody else, such as of the next page of a list, ends first.
  useEffect(() => follower.see(mark, isOpen), [follower, mark, isOpen, query.isFetching]);
}

class Follower {
  query: Query | undefined;
  #mark: string | undefined;
  #isOpen = false;
  #isStale = false;
  #isOn = false;
  #isReading = false;
  #readAt = Number.NEGATIVE_INFINITY;
  #tookMs = 0;
  /** It was read when it was first shown. */
  readonly #shownAt = performance.now();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(mark: string | undefined) {
    this.#mark = mark;
  }

  see(mark: string | undefined, isOpen: boolean): void {
    if (this.#mark !== undefined && mark !== this.#mark) this.#isStale = true;
    this.#mark = mark;
    this.#isOpen = isOpen;
    this.#plan();
  }

  start(): () => void {
    const plan = () => this.#plan();
    document.addEventListener('visibilitychange', plan);
    this.#isOn = true;
    plan();
    return () => {
      document.removeEventListener('visibilitychange', plan);
      clearTimeout(this.#timer);
      this.#isOn = false;
      // Whatever changes meanwhile is not told of.
      this.#isStale = true;
    };
  }

  /** Plans anew: what it waited for may be something else by now. */
  #plan(): void {
    clearTimeout(this.#timer);
    if (!this.#isOn || document.hidden || this.#isReading || this.query?.isFetching === true) return;
    if (!this.#isStale && !this.#isOpen) return;
    const waitMs = this.#dueAt() - performance.now();
    if (waitMs > 0) this.#timer = setTimeout(() => this.#plan(), waitMs);
    else void this.#read();
  }

  #dueAt(): number {
    if (!this.#isStale)
      return Math.max(this.#readAt, this.#shownAt) + Math.max(silenceMs, this.#tookMs / share.silent);
    // The last read, when nothing changes any more, is not put off.
    return this.#readAt + Math.max(leastMs, this.#isOpen ? this.#tookMs / share.changing : 0);
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    this.#isStale = false;
    this.#readAt = performance.now();
    const answer = await this.query?.refetch();
    // Another read took its place, which may have kept what was known before.
    if (answer?.isFetching === true) this.#isStale = true;
    this.#tookMs = performance.now() - this.#readAt;
    this.#isReading = false;
    this.#plan();
  }
}
