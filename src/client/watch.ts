/**
 * Subscriptions that outlive their connection. Every value is a whole state, and only the newest waits to be read: a slow
 * reader costs no memory. After a lost connection the server starts with the current state again, or waits for news if that
 * is known already. Whatever is wrong with the server, a watch tries again, for as long as its reader wants; but where it is too old for what is asked of
 * it, that is told: to `onLost`, or else to the reader.
 */
import type { TypedDocumentString } from '../generated/operations.ts';
import { backoffMs, wait } from './backoff.ts';
import { isNotUnderstood, isTransient, JobtreeError, retryAfterMs } from './errors.ts';
import { Signal } from './signal.ts';
import type { Operations } from './socket.ts';

const steadyMs = 10_000;

export interface Watched<R, T> {
  /** The state after an event, or undefined if the event says nothing new. */
  take(data: R): T | undefined;
  /** Whether nothing comes after it. A stream that completes before has lost its server. */
  isFinal(value: T): boolean;
  /** Called before trying again, also when the server is too old. */
  onLost?(error: JobtreeError): void;
  /** Called when the server does not answer any more, once; it is tried again. */
  onDisconnected?: ((error: JobtreeError) => void) | undefined;
  /** Called when the server sends something after that. */
  onConnected?: (() => void) | undefined;
}

/**
 * Yields until the final value was read, the signal aborts, or the reader breaks off.
 *
 * @throws JobtreeError a refusal of the server, such as NOT_FOUND; without `onLost` also BAD_RESPONSE, if the server does not know what is asked for
 */
export async function* watch<R, V, T>(
  socket: Operations,
  document: TypedDocumentString<R, V>,
  /** Asked for at each connection. */
  variables: () => V,
  { take, isFinal, onLost, onDisconnected, onConnected }: Watched<R, T>,
  signal?: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  let isAway = false;
  for (let tries = 0; !signal?.aborted; ) {
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
    if (signal?.aborted || ended === undefined) return;
    if (!isTransient(ended) && ended.code !== 'BAD_RESPONSE') throw ended;
    if (onLost === undefined && isNotUnderstood(ended)) throw ended;
    onLost?.(ended);
    if (!isAway) onDisconnected?.(ended);
    isAway = true;
    // What lasted had begun, though nothing came: what is known is not told again.
    tries = performance.now() - startedAt > steadyMs ? 1 : tries + 1;
    await wait(Math.max(backoffMs(tries), retryAfterMs(ended)), signal);
  }
}
