/** Wakes the one that waits. A signal that fires while nobody waits is kept, so that none is missed. */
export class Signal {
  #fired = false;
  #wake: (() => void) | undefined;

  readonly fire = (): void => {
    this.#fired = true;
    this.#wake?.();
  };

  /** Resolves at the next signal, or at once if one has fired since the last wait. */
  async wait(): Promise<void> {
    if (!this.#fired)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    this.#fired = false;
  }
}
