/** Says in the log what a shutdown is waiting for, if that takes long: a process that hangs should not do so in silence. */
import type { Logger } from 'pino';

const patienceMs = 3_000;

export type WaitFor = <T>(what: string, step: Promise<T>) => Promise<T>;

export function createWaitFor(logger: Logger): WaitFor {
  return async (what, step) => {
    const timer = setTimeout(() => logger.warn({ what }, 'the shutdown is waiting'), patienceMs);
    try {
      return await step;
    } finally {
      clearTimeout(timer);
    }
  };
}

/** What keeps this process alive, by kind: `{ Timeout: 2, TCPSocketWrap: 1 }`. */
export function activeResources(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}
