/** Calls at once, and then at most once per interval; triggers in between become one call at its end. */
export class Throttle {
  readonly #intervalMs: number;
  readonly #call: () => void;
  #timer: NodeJS.Timeout | undefined;
  #again = false;
  #closed = false;

  constructor(intervalMs: number, call: () => void) {
    this.#intervalMs = intervalMs;
    this.#call = call;
  }

  trigger(): void {
    this.#again = true;
    if (this.#timer === undefined && !this.#closed) this.#run();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #run(): void {
    this.#again = false;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#again) this.#run();
    }, this.#intervalMs).unref();
    this.#call();
  }
}
