/** Wakes the one that waits for it. It remembers nothing, so check whether there is anything to wait for before you wait. */
export class Signal {
  #wake = () => {};

  fire(): void {
    this.#wake();
  }

  /** Resolves the next time it fires, or after `ms` milliseconds. */
  async wait(ms?: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (ms !== undefined) timer = setTimeout(resolve, ms);
    });
    clearTimeout(timer);
    this.#wake = () => {};
  }
}
