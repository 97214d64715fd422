/** Counts the lasting connections (WebSockets, event streams) of each client address, and knows when one has too many. */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';

export class Addresses {
  readonly #most: number;
  readonly #trustedProxies: number;
  readonly #counts = new Map<string, number>();

  constructor(options: { most: number; trustedProxies: number }) {
    this.#most = options.most;
    this.#trustedProxies = options.trustedProxies;
  }

  isFull(request: IncomingMessage): boolean {
    return (this.#counts.get(this.addressOf(request)) ?? 0) >= this.#most;
  }

  /** Counts a connection until it is closed. */
  enter(request: IncomingMessage, connection: Pick<EventEmitter, 'once'>): void {
    const address = this.addressOf(request);
    this.#counts.set(address, (this.#counts.get(address) ?? 0) + 1);
    connection.once('close', () => {
      const left = (this.#counts.get(address) ?? 1) - 1;
      if (left === 0) this.#counts.delete(address);
      else this.#counts.set(address, left);
    });
  }

  /** Each proxy adds whom it heard to the end of X-Forwarded-For; what stands before that, anybody may have written. */
  addressOf({ headers, socket }: IncomingMessage): string {
    const own = socket.remoteAddress ?? '';
    if (this.#trustedProxies === 0) return own;
    const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
    return forwarded.at(-this.#trustedProxies)?.trim() || own;
  }
}
