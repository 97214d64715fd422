/** Lets callers wait for conditions, which are evaluated at each call of `check`. */
export class Conditions {
  readonly #checks = new Set<() => void>();

  check(): void {
    for (const check of this.#checks) check();
  }

  /** Resolves when the condition is true, or after `ms` milliseconds. */
  async until(condition: () => boolean, ms?: number): Promise<void> {
    if (condition()) return;
    await new Promise<void>((resolve) => {
      const check = () => {
        if (!condition()) return;
        done();
      };
      const done = () => {
        clearTimeout(timer);
        this.#checks.delete(check);
        resolve();
      };
      const timer = ms === undefined ? undefined : setTimeout(done, ms);
      this.#checks.add(check);
    });
  }
}
