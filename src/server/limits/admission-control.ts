/**
 * Refuses what would only wait. Under overload, requests come faster than they are carried out: whatever is let in waits until its caller has left,
 * and to read it, and to notice that, takes the time in which others could be carried out. So a caller may have as much under way as was carried
 * out for it within the last seconds. What keeps leases alive is still let in when other operations no longer are.
 */
import { type Owner, pathOf } from '../../concurrency/fair-queue.ts';

/** How long an operation may have to wait, judged by what was carried out for its caller lately. */
const longestWaitMs = 2_000;
/** A caller may always have this much under way: it may be slow work that waits for nobody else's. */
const least = 256;
/** So many times as much if it keeps leases alive. */
const forLeases = 2;

interface UnderWay {
  operations: number;
  /** Carried out since `since`. */
  done: number;
  since: number;
  /** How much can be carried out within `longestWaitMs`; unknown until the caller has had much under way for that long. */
  most: number;
}

const unknown = () => ({ done: 0, since: performance.now(), most: Number.POSITIVE_INFINITY });

export class AdmissionControl {
  readonly #longestWaitMs: number;
  readonly #callers = new Map<string, UnderWay>();

  constructor(options: { longestWaitMs?: number } = {}) {
    this.#longestWaitMs = options.longestWaitMs ?? longestWaitMs;
  }

  /**
   * Undefined if the operation would wait for too long; otherwise a function to call when it has ended, with whether it was carried out. Further
   * calls of that function change nothing.
   */
  enter(owner: Owner, keepsLeases: () => boolean): ((isDone: boolean) => void) | undefined {
    const key = pathOf(owner).join('/');
    let ofCaller = this.#callers.get(key);
    if (ofCaller === undefined) {
      ofCaller = { operations: 0, ...unknown() };
      this.#callers.set(key, ofCaller);
    }
    const underWay = ofCaller;
    if (underWay.operations < least / 2) underWay.since = performance.now();
    const most = Math.max(least, this.#measure(underWay));
    if (underWay.operations >= most && (underWay.operations >= most * forLeases || !keepsLeases()))
      return undefined;
    underWay.operations++;
    let isOver = false;
    return (isDone) => {
      if (isOver) return;
      isOver = true;
      if (isDone) underWay.done++;
      underWay.operations--;
      // What was carried out while little was asked for says nothing of what can be.
      if (underWay.operations < least / 2) Object.assign(underWay, unknown());
      if (underWay.operations === 0) this.#callers.delete(key);
    };
  }

  #measure(underWay: UnderWay): number {
    const now = performance.now();
    const passedMs = now - underWay.since;
    if (passedMs >= this.#longestWaitMs) {
      underWay.most = (underWay.done / passedMs) * this.#longestWaitMs;
      underWay.done = 0;
      underWay.since = now;
    }
    return underWay.most;
  }
}
