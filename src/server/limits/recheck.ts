/** Collects things to check again after a delay, all at once. */
export class Recheck<T> {
  readonly #afterMs: number;
  readonly #check: (one: T) => void;
  readonly #waiting = new Set<T>();
  #timer: NodeJS.Timeout | undefined;

  constructor(afterMs: number, check: (one: T) => void) {
    this.#afterMs = afterMs;
    this.#check = check;
  }

  add(one: T): void {
    this.#waiting.add(one);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const waiting = [...this.#waiting];
      this.#waiting.clear();
      for (const one of waiting) this.#check(one);
    }, this.#afterMs);
  }

  /** Returns whether it was waiting. */
  delete(one: T): boolean {
    return this.#waiting.delete(one);
  }

  clear(): void {
    this.#waiting.clear();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
