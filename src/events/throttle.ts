/** Calls at once, and then at most once every interval; what came in between is one call at its end. */
export class Throttle {
  readonly #intervalMs: number;
  readonly #call: () => void;
  #timer: NodeJS.Timeout | undefined;
  #again = false;

  constructor(intervalMs: number, call: () => void) {
    this.#intervalMs = intervalMs;
    this.#call = call;
  }

  trigger(): void {
    this.#again = true;
    if (this.#timer === undefined) this.#run();
  }

  close(): void {
    clearTimeout(this.#timer);
    // Never to be undefined again: a closed throttle calls nobody.
    this.#timer = setTimeout(() => undefined, 0).unref();
    this.#again = false;
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
