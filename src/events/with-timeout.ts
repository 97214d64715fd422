/** There was no answer in time. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/** The promise, but rejected with a TimeoutError if it takes longer. An answer that came while this process was busy is no late one. */
export async function withTimeout<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => setImmediate(() => reject(new TimeoutError(`no answer within ${ms} ms`))), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
