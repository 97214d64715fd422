/**
 * Who is let in over HTTP while much is under way: requests are counted, and the bytes of their bodies, from their heads
 * until their answers are sent. Whoever is one too many is told so before anything of the body is read.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Smaller bodies are not what fills the memory, and what keeps holds alive is mostly as small. */
const smallBytes = 16_000;
const retryAfterSeconds = '1';

const refusal = JSON.stringify({
  errors: [
    {
      message: 'The server has as much to do as it takes. Nothing was done: try again.',
      extensions: { code: 'UNAVAILABLE' },
    },
  ],
});

export class Admission {
  readonly #maxRequests: number;
  readonly #maxBytes: number;
  readonly #largestBytes: number;
  #requests = 0;
  #bytes = 0;

  /** A body without a length counts as one of `largestBytes`. */
  constructor(options: { maxRequests: number; maxBytes: number; largestBytes: number }) {
    this.#maxRequests = options.maxRequests;
    this.#maxBytes = options.maxBytes;
    this.#largestBytes = options.largestBytes;
  }

  /** Lets the request in, or answers that there is no room for it; says which. */
  admit(request: IncomingMessage, response: ServerResponse): boolean {
    const bytes = this.#weigh(request);
    if (this.#requests >= this.#maxRequests || (bytes > 0 && this.#bytes + bytes > this.#maxBytes)) {
      refuse(response, bytes);
      return false;
    }
    this.#requests++;
    this.#bytes += bytes;
    // An event stream is counted as a connection once its request is read.
    const isStream = request.headers.accept?.includes('text/event-stream') === true;
    (isStream ? request : response).once('close', () => {
      this.#requests--;
      this.#bytes -= bytes;
    });
    // Of a request without a body nothing is read, so its end is not told.
    if (isStream && request.method === 'GET') request.resume();
    return true;
  }

  #weigh({ headers }: IncomingMessage): number {
    if (headers['transfer-encoding'] !== undefined) return this.#largestBytes;
    const length = Number(headers['content-length'] ?? 0);
    // What is longer is refused for its length.
    return length > smallBytes ? Math.min(length, this.#largestBytes) : 0;
  }
}

function refuse(response: ServerResponse, bytes: number): void {
  // The rest of a small body may be read past; that of a large one is not waited for.
  if (bytes > 0) response.shouldKeepAlive = false;
  response
    .writeHead(503, {
      'content-type': 'application/json; charset=utf-8',
      'retry-after': retryAfterSeconds,
      'cache-control': 'no-store',
    })
    .end(refusal);
}
