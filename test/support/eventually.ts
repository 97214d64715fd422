import { vi } from 'vitest';

/** Waits until the check passes, with the patience of `expect.poll`, and gives what it gave. */
export const eventually = <T>(check: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: 60_000, interval: 20 });
