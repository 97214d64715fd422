/**
 * Claims that wait for work: how many a caller and a server may have, and what ends their waiting. They count neither as operations nor as
 * requests under way, since they take nothing but memory.
 */
import type { IncomingMessage } from 'node:http';
import type { Owner } from '../../concurrency/fair-queue.ts';
import { Quota, type Share } from './quota.ts';

const most = 20_000;

type GoOn = (() => void) | undefined;

/** A caller's right. */
interface Right {
  readonly isOver: boolean;
  /** Calls back when it ends, until the returned function is called. */
  enter(onEnd: () => void): () => void;
}

export class Parking {
  readonly #places: Quota;
  readonly #onRest: (request: IncomingMessage) => void;

  /** `onRest` is called when a request over HTTP begins to wait. */
  constructor(options: { onRest: (request: IncomingMessage) => void; mostPerCaller?: number | undefined }) {
    const { onRest, mostPerCaller = 10_000 } = options;
    this.#places = new Quota({ mostPerCaller, mostPerTenant: mostPerCaller, most });
    this.#onRest = onRest;
  }

  /** An operation on a socket, whose signal aborts when its client cancels it, leaves or loses its right. Undefined if too many wait. */
  ofSocket(owner: Owner, signal: AbortSignal, onGone: () => void): GoOn {
    const place = this.#take(owner);
    if (place === undefined) return undefined;
    if (signal.aborted) onGone();
    signal.addEventListener('abort', onGone);
    return () => {
      place.release();
      signal.removeEventListener('abort', onGone);
    };
  }

  ofRequest(owner: Owner, request: IncomingMessage, right: Right | undefined, onGone: () => void): GoOn {
    const place = this.#take(owner);
    if (place === undefined) return undefined;
    const { socket } = request;
    if (socket.destroyed || socket.readableEnded || right?.isOver) onGone();
    // Whoever ends its half of the connection has left: Node waits for the answer before it ends the other half.
    for (const event of ['end', 'close']) socket.on(event, onGone);
    const leave = right?.enter(onGone);
    this.#onRest(request);
    return () => {
      place.release();
      for (const event of ['end', 'close']) socket.off(event, onGone);
      leave?.();
    };
  }

  #take(owner: Owner): Share | undefined {
    const place = this.#places.share(owner);
    return place.take() === undefined ? place : undefined;
  }
}
