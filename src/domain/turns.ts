/**
 * So many at a time. Those who wait are taken by turns from each client, so that one with a thousand of them waits for its own, and
 * nobody else does.
 */
import { ClientGoneError } from '../errors.ts';

export interface Request {
  readonly client?: string | undefined;
  /** Whether nobody waits for it any more. */
  readonly isGone?: (() => boolean) | undefined;
}

export class Turns {
  #free: number;
  /** By client, the one whose turn is next first. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** @throws ClientGoneError if nobody waits for it any more when its turn comes. */
  async run<T>({ client = '', isGone }: Request, act: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await this.#wait(client);
    try {
      if (isGone?.()) throw new ClientGoneError();
      return await act();
    } finally {
      this.#next();
    }
  }

  #wait(client: string): Promise<void> {
    return new Promise((begin) => {
      const waiting = this.#waiting.get(client);
      if (waiting === undefined) this.#waiting.set(client, [begin]);
      else waiting.push(begin);
    });
  }

  #next(): void {
    for (const [client, waiting] of this.#waiting) {
      const begin = waiting.shift();
      // Behind all others, if it has more.
      this.#waiting.delete(client);
      if (waiting.length > 0) this.#waiting.set(client, waiting);
      if (begin === undefined) continue;
      begin();
      return;
    }
    this.#free++;
  }
}
