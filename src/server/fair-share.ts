/**
 * Keeps what serves watchers from crowding out everything else: telling takes what is left of the CPU time of this process, and
 * of its time at least a share, however busy the process is. Who has told pays with a wait before the next event, so the first
 * event after a quiet time is never late, and what changes meanwhile is merged.
 *
 * It counts the CPU time of the process, not the time that passes: on a machine that does other things, a process that waits for
 * its turn is not busy.
 */

const leastShare = 0.08;
/** Of a core. Beyond it telling takes less and less, below it more and more: between the two there is room for a burst. */
const busyFrom = 0.85;
const idleBelow = 0.75;
const less = 0.7;
const more = 1.2;
const lookEveryMs = 100;
/** However many there are to tell, each hears something this often. */
const longestMs = 1_000;

/** The CPU time that this process has taken, in milliseconds. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

export class FairShare {
  #share = 1;
  #paidUntil = 0;
  #lookedAt = performance.now();
  #cpuMs = cpuMs();

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
    const cpu = cpuMs();
    const busy = (cpu - this.#cpuMs) / passedMs;
    this.#lookedAt = now;
    this.#cpuMs = cpu;
    if (busy > busyFrom) this.#share = Math.max(leastShare, this.#share * less);
    else if (busy < idleBelow) this.#share = Math.min(1, this.#share * more ** (passedMs / lookEveryMs));
  }
}
