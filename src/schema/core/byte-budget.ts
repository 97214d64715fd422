/** Requests up to this size never wait. */
const smallBytes = 100_000;

/** Lends up to this many bytes at a time, first come, first served. A larger request runs when no other does. */
export class ByteBudget {
  readonly #most: number;
  #taken = 0;
  readonly #waiting: { readonly bytes: number; readonly begin: () => void }[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  async run<T>(bytes: number, act: () => Promise<T>): Promise<T> {
    if (bytes < smallBytes) return act();
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
