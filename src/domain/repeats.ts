/**
 * What may come over and over, as in an outage: the first of a kind is told at once, what follows once a minute, with how often it came
 * and the last of it. A kind of which nothing came for a minute begins anew.
 */
const everyMs = 60_000;
/** What is of more kinds than this is told together. */
const mostKinds = 1_000;
const others = '';

export class Repeats<Thing> {
  readonly #kinds = new Map<string, { times: number; last: Thing }>();
  readonly #tell: (last: Thing, times: number) => void;

  constructor(tell: (last: Thing, times: number) => void) {
    this.#tell = tell;
  }

  /** Whether its kind was told within the last minute; it is counted then. */
  isRepeat(name: string, thing: Thing, times = 1): boolean {
    const kind = this.#kinds.has(name) || this.#kinds.size < mostKinds ? name : others;
    const told = this.#kinds.get(kind);
    if (told !== undefined) {
      told.times += times;
      told.last = thing;
      return true;
    }
    this.#kinds.set(kind, { times: 0, last: thing });
    this.#watch(kind);
    return false;
  }

  #watch(kind: string): void {
    setTimeout(() => {
      const told = this.#kinds.get(kind);
      if (told === undefined || told.times === 0) {
        this.#kinds.delete(kind);
        return;
      }
      this.#tell(told.last, told.times);
      told.times = 0;
      this.#watch(kind);
    }, everyMs).unref();
  }
}
