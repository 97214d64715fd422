/**
 * That a caller was admitted, and until when. It ends when its key is revoked or its time is over, which it watches itself, and then ends the
 * sockets and streams that depend on it.
 */
import type { Caller } from '../../domain/access/rights.ts';

/** Called with the reason when the admission ends. */
export type OnEnd = (reason: string) => void;

/** The longest delay of a timer in Node. */
const longestTimerMs = 2_147_483_647;

const admissions = new WeakMap<Caller, Admission>();

export class Admission {
  readonly caller: Caller;
  readonly #whenOver: string;
  readonly #onUse: (admission: Admission, isUsed: boolean) => void;
  readonly #sessions = new Set<OnEnd>();
  #until: number;
  #timer: NodeJS.Timeout | undefined;
  #hasEnded = false;

  /** `onUse` is called when the first session enters, and again when the last one has left. */
  constructor(options: {
    caller: Caller;
    until?: number | undefined;
    /** The reason given to sessions when the time is over. */
    whenOver?: string;
    onUse?: (admission: Admission, isUsed: boolean) => void;
  }) {
    this.caller = options.caller;
    this.#until = options.until ?? Number.POSITIVE_INFINITY;
    this.#whenOver = options.whenOver ?? 'The right has expired.';
    this.#onUse = options.onUse ?? (() => {});
    admissions.set(this.caller, this);
  }

  /** When the admission of a caller expires; null if it does not. */
  static endOf(caller: Caller): Date | null {
    const until = admissions.get(caller)?.until ?? Number.POSITIVE_INFINITY;
    return Number.isFinite(until) ? new Date(Date.now() + until - performance.now()) : null;
  }

  /** When the admission expires, on the clock of `performance.now()`. */
  get until(): number {
    return this.#until;
  }

  set until(until: number) {
    this.#until = until;
    this.#watch();
  }

  /** Registers a socket or stream, which ends with the admission. Returns the function to call once it has ended by itself. */
  enter(onEnd: OnEnd): () => void {
    if (this.#sessions.size === 0) this.#onUse(this, true);
    // Wrapped, since several sessions may pass the same function.
    const session: OnEnd = (reason) => onEnd(reason);
    this.#sessions.add(session);
    if (this.#sessions.size === 1) this.#watch();
    return () => {
      if (!this.#sessions.delete(session) || this.#sessions.size > 0) return;
      this.#watch();
      this.#onUse(this, false);
    };
  }

  /** Once true, nothing may begin with it, not even for those who were admitted before. */
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
