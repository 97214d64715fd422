/** Reports a kind of problem once, and while it persists once a minute with a count, instead of hundreds of times. */

const againAfterMs = 60_000;
/** With more kinds than this, each problem has a message of its own: the known ones are forgotten. */
const mostKinds = 100;

interface Known {
  toldAt: number;
  /** How often it came since it was last reported. */
  again: number;
}

export class Problems<Problem = unknown> {
  readonly #tell: (problem: Problem, again: number) => void;
  readonly #now: () => number;
  readonly #known = new Map<string, Known>();

  constructor(tell: (problem: Problem, again: number) => void, now: () => number = () => performance.now()) {
    this.#tell = tell;
    this.#now = now;
  }

  add(problem: Problem, kind = String(problem)): void {
    const known = this.#known.get(kind);
    if (known !== undefined) known.again++;
    if (known !== undefined && this.#now() - known.toldAt < againAfterMs) return;
    if (this.#known.size >= mostKinds) this.#known.clear();
    this.#known.set(kind, { toldAt: this.#now(), again: 0 });
    this.#tell(problem, known?.again ?? 0);
  }
}
