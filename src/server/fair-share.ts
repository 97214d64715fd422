/**
 * Keeps what serves watchers from crowding out everything else: telling takes what everything else leaves of the time of the
 * event loop, up to a limit, and a little of it however busy the process is. Who has told pays with a wait before the next
 * event, so the first event after a quiet time is never late, and what changes meanwhile is merged.
 *
 * What everything else takes is what the event loop was busy with, without telling. On a machine that is full, that grows with
 * the wait for a core, and telling makes room. (Judged by the CPU time of this process alone, it told 41,000 events a second
 * there and took half of their speed from reports.)
 */
import { performance } from 'node:perf_hooks';

/** Of the time of the event loop, for everything: the rest is room for bursts, and for the system and its database beside it. */
const limit = 0.75;
const leastShare = 0.04;
const lookEveryMs = 100;
/**
 * How fast it is noticed that everything else takes more, and how fast that it takes less: that may be only because telling has
 * taken its place.
 */
const noticeMs = 300;
const forgetMs = 3_000;
/** However many there are to tell, each hears something this often. */
const longestMs = 2_000;

export class FairShare {
  #share = limit;
  #others = 0;
  #toldMs = 0;
  #paidUntil = 0;
  #lookedAt = performance.now();
  #loop = performance.eventLoopUtilization();

  /** What telling for so long is paid with: a wait, in milliseconds. Who pays at the same time pays one after the other. */
  price(ms: number): number {
    const now = performance.now();
    this.#toldMs += ms;
    this.#look(now);
    const waitMs = ms / this.#share - ms;
    this.#paidUntil = Math.min(Math.max(now, this.#paidUntil) + waitMs, now + longestMs);
    const left = this.#paidUntil - now;
    // Timers are not more precise.
    return left < 1 ? 0 : left;
  }

  #look(now: number): void {
    const passedMs = now - this.#lookedAt;
    if (passedMs < lookEveryMs) return;
    const before = this.#loop;
    this.#loop = performance.eventLoopUtilization();
    const busy = performance.eventLoopUtilization(this.#loop, before).utilization;
    const others = Math.max(0, busy - this.#toldMs / passedMs);
    // When nothing was told for long, it took nobody's place.
    const overMs = others > this.#others || passedMs > longestMs ? noticeMs : forgetMs;
    this.#others += (others - this.#others) * (1 - Math.exp(-passedMs / overMs));
    this.#share = Math.max(leastShare, limit - this.#others);
    this.#lookedAt = now;
    this.#toldMs = 0;
  }
}
