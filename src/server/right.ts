/**
 * What a caller was admitted with. It ends when its key is revoked or its time is over, and then ends what lasts and rests upon it; by its own
 * clock, so that nobody else need answer for that.
 */
import type { Caller } from '../domain/rights.ts';

/** Told why, when the right ends. */
export type OnEnd = (reason: string) => void;

/** That Node knows. */
const longestTimerMs = 2_147_483_647;

export class Right {
  readonly caller: Caller;
  readonly #whenOver: string;
  readonly #onUse: (right: Right, isUsed: boolean) => void;
  readonly #sessions = new Set<OnEnd>();
  #until: number;
  #timer: NodeJS.Timeout | undefined;
  #hasEnded = false;

  /** `onUse` hears when the first session rests upon it, and when none does any more. */
  constructor(options: {
    caller: Caller;
    until?: number | undefined;
    /** The reason that sessions are told then. */
    whenOver?: string;
    onUse?: (right: Right, isUsed: boolean) => void;
  }) {
    this.caller = options.caller;
    this.#until = options.until ?? Number.POSITIVE_INFINITY;
    this.#whenOver = options.whenOver ?? 'The right is over.';
    this.#onUse = options.onUse ?? (() => {});
  }

  /** When it is over, on the clock of `performance.now()`. */
  get until(): number {
    return this.#until;
  }

  set until(until: number) {
    this.#until = until;
    this.#watch();
  }

  /** A socket or stream rests upon it from now on. Returns what is to be called when it has ended by itself. */
  enter(onEnd: OnEnd): () => void {
    if (this.#sessions.size === 0) this.#onUse(this, true);
    // Several may give the same function.
    const session: OnEnd = (reason) => onEnd(reason);
    this.#sessions.add(session);
    if (this.#sessions.size === 1) this.#watch();
    return () => {
      if (!this.#sessions.delete(session) || this.#sessions.size > 0) return;
      this.#watch();
      this.#onUse(this, false);
    };
  }

  /** From then on nothing may be begun with it, also by who was admitted before. */
  get isOver(): boolean {
    return this.#hasEnded || this.until <= performance.now();
  }

  end(reason: string): void {
    this.#hasEnded = true;
    const sessions = [...this.#sessions];
    this.#sessions.clear();
    this.#watch();
    if (sessions.length > 0) this.#onUse(this, false);
    for (const onEnd of sessions) onEnd(reason);
  }

  #watch(): void {
    clearTimeout(this.#timer);
    if (this.#sessions.size === 0 || this.#until === Number.POSITIVE_INFINITY) return;
    const leftMs = Math.ceil(Math.max(0, this.#until - performance.now()));
    this.#timer = setTimeout(
      () => (this.isOver ? this.end(this.#whenOver) : this.#watch()),
      Math.min(leftMs, longestTimerMs),
    ).unref();
  }
}
