/** Visits each of many connections once per interval, a few at a time: thousands at once would hold up everything else. */
const mostSlices = 100;

export class KeepAlive<Connection> {
  readonly #slices: readonly Set<Connection>[];
  readonly #look: (connection: Connection) => void;
  readonly #timer: NodeJS.Timeout;
  #entered = 0;
  #turn = 0;

  constructor(options: { everyMs: number; look: (connection: Connection) => void }) {
    const { everyMs, look } = options;
    const count = Math.max(1, Math.min(mostSlices, Math.floor(everyMs / 10)));
    this.#slices = Array.from({ length: count }, () => new Set());
    this.#look = look;
    this.#timer = setInterval(() => this.#next(), everyMs / count).unref();
  }

  /** Returns a function that removes the connection. */
  enter(connection: Connection): () => void {
    const slice = this.#slices[this.#entered++ % this.#slices.length];
    slice?.add(connection);
    return () => slice?.delete(connection);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #next(): void {
    for (const connection of this.#slices[this.#turn] ?? []) this.#look(connection);
    this.#turn = (this.#turn + 1) % this.#slices.length;
  }
}
