/**
 * Keeps what serves watchers from crowding out everything else: while this process is busy, telling takes at most a share of
 * its time. Who has told pays with a wait before the next event, so the first event after a quiet time is never late, and
 * what changes meanwhile is merged.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

const share = 0.15;
/** Of the time in which the event loop does something. Below it nobody is crowded out. */
const busyFrom = 0.6;
const lookEveryMs = 100;
/** However many there are to tell, each hears something this often. */
const longestMs = 1_000;

export class FairShare {
  #paidUntil = 0;
  #isBusy = false;
  #lookedAt = performance.now();
  #utilization = performance.eventLoopUtilization();

  /** Pays for telling that took so long. Who pays at the same time pays one after the other. */
  async pay(ms: number): Promise<void> {
    const now = performance.now();
    this.#look(now);
    if (!this.#isBusy) return;
    this.#paidUntil = Math.min(Math.max(now, this.#paidUntil) + ms / share, now + longestMs);
    await delay(this.#paidUntil - now, undefined, { ref: false });
  }

  #look(now: number): void {
    if (now - this.#lookedAt < lookEveryMs) return;
    this.#lookedAt = now;
    const before = this.#utilization;
    this.#utilization = performance.eventLoopUtilization();
    this.#isBusy = performance.eventLoopUtilization(this.#utilization, before).utilization > busyFrom;
  }
}
