/** There was no answer in time. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/**
 * Returns the promise, or rejects with a TimeoutError if it takes longer. Time in which this process was too busy to read answers
 * does not count: a timer that goes off late starts again.
 */
export async function withTimeout<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const wait = () => {
      const dueAt = performance.now() + ms;
      timer = setTimeout(() => {
        if (performance.now() - dueAt > ms / 2) wait();
        // Reads what has arrived by now first.
        else setImmediate(() => reject(new TimeoutError(`no answer within ${Math.round(ms)} ms`)));
      }, ms);
    };
    wait();
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
