/** How long to wait before the next try. Random, so that the clients of a server that comes back do not all return at once. */

const firstMs = 100;
const longestMs = 5_000;

/** Doubles from 100 ms up to 5 s with each failure in a row (counted from 1). The upper half of the time is random. */
export function backoffMs(failures: number, random: () => number = Math.random): number {
  const ms = Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 30));
  return ms / 2 + (random() * ms) / 2;
}

/** A server that restarts disconnects all its clients at once: they come back spread over two seconds. */
export function restartPauseMs(random: () => number = Math.random): number {
  return random() * 2_000;
}

/** Resolves after the time, or at once when the signal aborts. */
export function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}
