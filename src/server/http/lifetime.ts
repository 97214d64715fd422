/** The stages of a server's end: ready; leaving, when it still serves but tells load balancers to go elsewhere; closing. */
export class Lifetime {
  readonly #timeoutMs: number;
  #state: 'ready' | 'leaving' | 'closing' = 'ready';
  #timeIsUp: Promise<void> | undefined;
  readonly #closing = new AbortController();

  /** `timeoutMs` is the time that requests in flight have to finish once the server closes. */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  get isReady(): boolean {
    return this.#state === 'ready';
  }

  get isClosing(): boolean {
    return this.#state === 'closing';
  }

  /** Aborts when the server closes. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  leave(): void {
    if (this.#state === 'ready') this.#state = 'leaving';
  }

  close(): void {
    this.#state = 'closing';
    this.#closing.abort();
    this.#timeIsUp ??= new Promise((resolve) => setTimeout(resolve, this.#timeoutMs).unref());
  }

  /** Resolves when the time for requests in flight is over; at once unless the server is closing. */
  get timeIsUp(): Promise<void> {
    return this.#timeIsUp ?? Promise.resolve();
  }
}
