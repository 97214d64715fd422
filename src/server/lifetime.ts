/** How far the server is from its end: it is ready; it still serves, and tells load balancers to go elsewhere; it closes. */
export class Lifetime {
  readonly #timeoutMs: number;
  #state: 'ready' | 'leaving' | 'closing' = 'ready';
  #timeIsUp: Promise<void> | undefined;

  /** `timeoutMs` is what requests in flight have to finish once the server closes. */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  get isReady(): boolean {
    return this.#state === 'ready';
  }

  get isClosing(): boolean {
    return this.#state === 'closing';
  }

  leave(): void {
    if (this.#state === 'ready') this.#state = 'leaving';
  }

  close(): void {
    this.#state = 'closing';
    this.#timeIsUp ??= new Promise((resolve) => setTimeout(resolve, this.#timeoutMs).unref());
  }

  /** Resolves when the time of requests in flight is over. */
  get timeIsUp(): Promise<void> {
    return this.#timeIsUp ?? Promise.resolve();
  }
}
