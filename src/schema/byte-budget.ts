/** What takes next to nothing waits for nobody. */
const small = 100_000;

/** So many bytes at a time, in the order in which they were asked for. What is more than all of them goes when nothing else does. */
export class ByteBudget {
  readonly #most: number;
  #taken = 0;
  readonly #waiting: { readonly bytes: number; readonly begin: () => void }[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  async run<T>(bytes: number, act: () => Promise<T>): Promise<T> {
    if (bytes < small) return act();
    if (this.#waiting.length > 0 || !this.#fits(bytes)) {
      await new Promise<void>((begin) => this.#waiting.push({ bytes, begin }));
    } else {
      this.#taken += bytes;
    }
    try {
      return await act();
    } finally {
      this.#taken -= bytes;
      this.#beginNext();
    }
  }

  #fits(bytes: number): boolean {
    return this.#taken === 0 || this.#taken + bytes <= this.#most;
  }

  #beginNext(): void {
    for (let next = this.#waiting[0]; next !== undefined && this.#fits(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#taken += next.bytes;
      next.begin();
    }
  }
}
