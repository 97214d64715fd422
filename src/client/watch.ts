/**
 * Subscriptions that outlive their connection. Every value is a whole state, and only the newest waits to be read, so a slow
 * reader costs no memory. After a lost connection the server begins with the current state again, or waits for a newer one if the
 * reader knows that state already. A watch tries again whatever is wrong with the server, for as long as its reader wants. The
 * exception is a server too old for the operation: that is reported to `onLost`, or else thrown to the reader.
 */

import { backoffMs, wait } from './backoff.ts';
import type { Document } from './document.ts';
import { isNotUnderstood, isTransient, JobtreeError, retryAfterMs } from './errors.ts';
import { Signal } from './signal.ts';
import type { Operations } from './socket.ts';

const steadyMs = 10_000;

export interface Watched<R, T> {
  /** Returns the state after an event, or undefined if the event has nothing new. */
  take(data: R): T | undefined;
  /** Whether no value follows this one. A stream that completes earlier has lost its server. */
  isFinal(value: T): boolean;
  /** Called before trying again, also when the server is too old. */
  onLost?(error: JobtreeError): void;
  /** Called once when the server stops answering; the watch tries again. */
  onDisconnected?: ((error: JobtreeError) => void) | undefined;
  /** Called when the server sends something after that. */
  onConnected?: (() => void) | undefined;
}

/**
 * Yields until the final value is read, or the reader breaks off.
 *
 * @throws JobtreeError a refusal of the server, such as NOT_FOUND; without `onLost` also BAD_RESPONSE, if the server does not
 *   know something that the operation uses. The reason of the signal, when that aborts before the final value
 */
export async function* watch<R, V, T>(
  socket: Operations,
  document: Document<R, V>,
  /** Called for each connection. */
  variables: () => V,
  { take, isFinal, onLost, onDisconnected, onConnected }: Watched<R, T>,
  signal?: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  let isAway = false;
  for (let tries = 0; ; ) {
    signal?.throwIfAborted();
    const startedAt = performance.now();
    let pending: T | undefined;
    let ended: JobtreeError | undefined;
    const changed = new Signal();
    const end = (error: JobtreeError) => {
      ended = error;
      changed.fire();
    };
    const stop = socket.subscribe(document, variables(), {
      next: (data) => {
        if (isAway) onConnected?.();
        isAway = false;
        pending = take(data) ?? pending;
        changed.fire();
      },
      error: end,
      complete: () => end(new JobtreeError('UNREACHABLE', 'The server ended the stream.')),
    });
    signal?.addEventListener('abort', changed.fire);
    try {
      while (!signal?.aborted) {
        if (pending !== undefined) {
          const value: T = pending;
          pending = undefined;
          tries = 0;
          yield value;
          if (isFinal(value)) return;
        } else if (ended !== undefined) {
          break;
        } else {
          await changed.wait();
        }
      }
    } finally {
      signal?.removeEventListener('abort', changed.fire);
      stop();
    }
    signal?.throwIfAborted();
    if (ended === undefined) return;
    if (!isTransient(ended) && ended.code !== 'BAD_RESPONSE') throw ended;
    if (onLost === undefined && isNotUnderstood(ended)) throw ended;
    onLost?.(ended);
    if (!isAway) onDisconnected?.(ended);
    isAway = true;
    // A stream that lasted had begun, even if nothing came: the server does not repeat a state that the reader knows.
    tries = performance.now() - startedAt > steadyMs ? 1 : tries + 1;
    await wait(Math.max(backoffMs(tries), retryAfterMs(ended)), signal);
  }
}

/** Ends without an error when this signal aborts. */
export async function* endedBy<T>(
  ending: AbortSignal,
  watching: AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  try {
    yield* watching;
  } catch (error) {
    if (!ending.aborted || error !== ending.reason) throw error;
  }
}
