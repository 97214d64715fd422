/** What a caller was admitted with. It ends when its key is revoked or it is over, and then ends what lasts and rests upon it. */
import type { Caller } from '../domain/rights.ts';

/** Told why, when the right ends. */
export type OnEnd = (reason: string) => void;

export class Right {
  readonly caller: Caller;
  /** When it is over, on the clock of `performance.now()`. */
  until: number;
  readonly #onUse: (right: Right, isUsed: boolean) => void;
  readonly #sessions = new Set<OnEnd>();
  #hasEnded = false;

  /** `onUse` hears when the first session rests upon it, and when none does any more. */
  constructor(options: {
    caller: Caller;
    until?: number | undefined;
    onUse?: (right: Right, isUsed: boolean) => void;
  }) {
    this.caller = options.caller;
    this.until = options.until ?? Number.POSITIVE_INFINITY;
    this.#onUse = options.onUse ?? (() => {});
  }

  /** A socket or stream rests upon it from now on. Returns what is to be called when it has ended by itself. */
  enter(onEnd: OnEnd): () => void {
    if (this.#sessions.size === 0) this.#onUse(this, true);
    // Several may give the same function.
    const session: OnEnd = (reason) => onEnd(reason);
    this.#sessions.add(session);
    return () => {
      if (this.#sessions.delete(session) && this.#sessions.size === 0) this.#onUse(this, false);
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
    if (sessions.length > 0) this.#onUse(this, false);
    for (const onEnd of sessions) onEnd(reason);
  }
}
