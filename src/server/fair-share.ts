/**
 * Keeps what serves watchers from crowding out everything else: telling takes what is left of the time of the event loop, and
 * of it at least a share, however busy it is. Who has told pays with a wait before the next event, so the first event after a
 * quiet time is never late, and what changes meanwhile is merged.
 *
 * What telling costs is CPU time of this process: waiting for a turn on a busy machine is no cost. How much is left is seen by
 * the event loop: on a machine that is full, a process that others keep from its core has CPU time to spare and nothing left.
 * (Judged by its CPU time alone, it told 41,000 events a second and took half of their speed from reports.)
 */
import { performance } from 'node:perf_hooks';

const leastShare = 0.08;
/** Of the time of the event loop. Beyond it telling takes less and less, below it more and more: between the two there is room for a burst. */
const busyFrom = 0.85;
const idleBelow = 0.75;
const less = 0.7;
const more = 1.2;
const lookEveryMs = 100;
/** After a long wait the share does not grow by all of it at once. */
const mostSteps = 5;
/** However many there are to tell, each hears something this often. */
const longestMs = 1_000;
/** Nothing was told for so long: what comes is no part of a stream of events. */
const quietMs = 2 * longestMs;

/** The CPU time that this process has taken, in milliseconds. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

export class FairShare {
  #share = 1;
  #paidUntil = 0;
  #lookedAt = performance.now();
  #loop = performance.eventLoopUtilization();

  /** What telling that took so much CPU time is paid with: a wait, in milliseconds. Who pays at the same time pays one after the other. */
  price(ms: number): number {
    const now = performance.now();
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
    this.#lookedAt = now;
    this.#loop = performance.eventLoopUtilization();
    const busy = performance.eventLoopUtilization(this.#loop, before).utilization;
    if (busy > busyFrom) this.#share = Math.max(leastShare, this.#share * less);
    else if (passedMs > quietMs) this.#share = 1;
    else if (busy < idleBelow)
      this.#share = Math.min(1, this.#share * more ** Math.min(mostSteps, passedMs / lookEveryMs));
  }
}
