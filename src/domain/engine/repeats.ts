/**
 * Limits how often repeated things are reported, as in an outage: the first one of a kind is reported immediately, and those that
 * follow once a minute, with their number and the last one. After a minute without one, the kind starts anew.
 */
const everyMs = 60_000;
/** Things of further kinds are reported together. */
const mostKinds = 1_000;
const foreignKinds = '';

export class Repeats<Thing> {
  readonly #kinds = new Map<string, { times: number; last: Thing }>();
  readonly #tell: (last: Thing, times: number) => void;

  constructor(tell: (last: Thing, times: number) => void) {
    this.#tell = tell;
  }

  /** Whether its kind was reported within the last minute; if so, counts it. */
  isRepeat(name: string, thing: Thing, times = 1): boolean {
    const kind = this.#kinds.has(name) || this.#kinds.size < mostKinds ? name : foreignKinds;
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
