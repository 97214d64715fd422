/** Ends rights when they are over, while anything rests upon them. */
import type { Right } from './right.ts';

const longestTimerMs = 2_147_483_647;

export class RightTimers {
  readonly #reason: string;
  readonly #timers = new Map<Right, NodeJS.Timeout>();

  /** `reason`: what those are told who rest upon one. */
  constructor(reason: string) {
    this.#reason = reason;
  }

  /** For `onUse` of a right. */
  watch(right: Right, isUsed: boolean): void {
    clearTimeout(this.#timers.get(right));
    this.#timers.delete(right);
    if (!isUsed) return;
    const leftMs = Math.min(Math.max(0, right.until - performance.now()), longestTimerMs);
    this.#timers.set(right, setTimeout(() => right.end(this.#reason), leftMs).unref());
  }

  stop(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }
}
