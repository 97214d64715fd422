/** Wakes the one who waits for it. It remembers nothing: whoever waits looks first whether there is anything to wait for. */
export class Signal {
  #wake = () => {};

  fire(): void {
    this.#wake();
  }

  /** Resolves when it is fired next, or after the time. */
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
