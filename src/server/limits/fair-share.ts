/**
 * Keeps telling watchers from crowding out everything else. Telling gets the time of the event loop that everything else leaves, up to a limit,
 * and at least a small share however busy the process is. Telling is paid for with a wait before the next event: the first event after a quiet
 * time is never late, and changes during a wait are merged.
 *
 * The load of everything else is the event loop's busy time without telling. On a full machine it grows with the wait for a core, and telling
 * makes room. (Judged by the CPU time of this process alone, telling reached 41,000 events a second there and took half of the speed of
 * reports.)
 */
import { performance } from 'node:perf_hooks';

/** Share of the event loop's time for everything together: the rest is room for bursts, and for the system and its database beside it. */
const limit = 0.75;
const leastShare = 0.04;
const lookEveryMs = 100;
/**
 * Time constants of the average: it follows a rising load of everything else quickly, and a falling one slowly, because that load may fall only
 * because telling has taken its place.
 */
const noticeMs = 300;
const forgetMs = 3_000;
/** However many watchers there are, each hears something this often. */
const longestMs = 2_000;

export class FairShare {
  #share = limit;
  #others = 0;
  #toldMs = 0;
  #paidUntil = 0;
  #lookedAt = performance.now();
  #loop = performance.eventLoopUtilization();

  /** The wait, in milliseconds, that pays for this much telling. Those who pay at the same time wait one after the other. */
  price(ms: number): number {
    const now = performance.now();
    this.#toldMs += ms;
    this.#look(now);
    const waitMs = ms / this.#share - ms;
    this.#paidUntil = Math.min(Math.max(now, this.#paidUntil) + waitMs, now + longestMs);
    const left = this.#paidUntil - now;
    // Timers are no more precise than a millisecond.
    return left < 1 ? 0 : left;
  }

  #look(now: number): void {
    const passedMs = now - this.#lookedAt;
    if (passedMs < lookEveryMs) return;
    const before = this.#loop;
    this.#loop = performance.eventLoopUtilization();
    const busy = performance.eventLoopUtilization(this.#loop, before).utilization;
    const others = Math.max(0, busy - this.#toldMs / passedMs);
    // After a long time without telling, a falling load was not displaced by it.
    const overMs = others > this.#others || passedMs > longestMs ? noticeMs : forgetMs;
    this.#others += (others - this.#others) * (1 - Math.exp(-passedMs / overMs));
    this.#share = Math.max(leastShare, limit - this.#others);
    this.#lookedAt = now;
    this.#toldMs = 0;
  }
}
