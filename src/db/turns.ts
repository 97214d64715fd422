/**
 * So many at a time. Those who wait are taken by turns from each client, and of each client from each of its requests: so one with
 * thousands of them waits for its own, and nobody else does.
 */
import { ClientGoneError, UnavailableError } from '../errors.ts';

/** Whose it is. All that belongs to one request comes with the same object. */
export interface Request {
  readonly client?: string | undefined;
  /** Whether nobody waits for it any more. */
  readonly isGone?: (() => boolean) | undefined;
}

type Begin = () => void;

export class Turns {
  readonly #waitMs: number;
  #free: number;
  /** By client and by request, the ones whose turn is next first. */
  readonly #waiting = new Map<string, Map<Request, Begin[]>>();

  /** After `waitMs`, whoever has waited for longer is refused. */
  constructor(atOnce: number, { waitMs = Number.POSITIVE_INFINITY } = {}) {
    this.#free = atOnce;
    this.#waitMs = waitMs;
  }

  /**
   * @throws ClientGoneError if nobody waits for it any more when its turn comes
   * @throws UnavailableError if that comes too late
   */
  async run<T>(request: Request, act: () => Promise<T>): Promise<T> {
    const giveUpAt = performance.now() + this.#waitMs;
    if (this.#free > 0) this.#free--;
    else await this.#wait(request);
    try {
      if (request.isGone?.()) throw new ClientGoneError();
      if (performance.now() > giveUpAt) throw new UnavailableError('The server has too much to do.');
      return await act();
    } finally {
      this.#next();
    }
  }

  #wait(request: Request): Promise<void> {
    const { client = '' } = request;
    const ofClient = this.#waiting.get(client) ?? new Map<Request, Begin[]>();
    this.#waiting.set(client, ofClient);
    const waiting = ofClient.get(request) ?? [];
    ofClient.set(request, waiting);
    return new Promise((begin) => waiting.push(begin));
  }

  #next(): void {
    for (const [client, ofClient] of this.#waiting) {
      for (const [request, waiting] of ofClient) {
        const begin = waiting.shift();
        putBehind(ofClient, request, waiting, waiting.length);
        putBehind(this.#waiting, client, ofClient, ofClient.size);
        begin?.();
        return;
      }
    }
    this.#free++;
  }
}

/** Behind all others, if it has more. */
function putBehind<Key, Rest>(all: Map<Key, Rest>, key: Key, rest: Rest, left: number): void {
  all.delete(key);
  if (left > 0) all.set(key, rest);
}
