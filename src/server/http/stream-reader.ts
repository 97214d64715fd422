/** A shared subscription as an event stream: its events, framed once for all readers, are written to the connection directly. */
import type { ServerResponse } from 'node:http';
import type { EncodedEvent } from '../execution/encoded-event.ts';
import { DirectReader } from '../execution/reader.ts';

/** How much may wait to be written: a reader that is slower misses events, and gets the state once it is ready. */
const windowBytes = 32 * 1024;
/** A comment: some browsers wait for the first byte, and proxies end what is silent. */
const comment = ':\n\n';
const commentEveryMs = 12_000;

export class StreamReader extends DirectReader {
  readonly #response: ServerResponse;
  /** What it was told before the head was written. */
  #held: EncodedEvent | undefined;
  #isOpen = false;

  constructor(response: ServerResponse) {
    super();
    this.#response = response;
  }

  get isReady(): boolean {
    return this.#held === undefined && this.#response.writableLength <= windowBytes;
  }

  tell(event: EncodedEvent): void {
    if (this.#isOpen) event.writeToStream(this.#response);
    else this.#held = event;
  }

  /** Called once the head is written. */
  open(): void {
    const response = this.#response;
    if (response.destroyed || response.writableEnded) return;
    this.#isOpen = true;
    response.write(comment);
    const timer = setInterval(() => {
      if (response.writableLength === 0 && !response.writableEnded) response.write(comment);
    }, commentEveryMs).unref();
    response.once('close', () => clearInterval(timer));
    this.#held?.writeToStream(response);
    this.#held = undefined;
    if (this.hasEnded) this.#complete();
  }

  end(): void {
    this.leave();
    if (this.#isOpen) this.#complete();
  }

  #complete(): void {
    if (!this.#response.writableEnded) this.#response.end('event: complete\ndata:\n\n');
  }
}
