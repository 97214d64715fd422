/**
 * What is large (a body to be parsed, an operation with its variables, an answer to be written) takes the event loop alone, and
 * leaves everybody else as much of it afterwards as it took. Without this, many that arrive together would be one block of seconds.
 */
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';

/** What is smaller takes no more than some ten milliseconds. */
export const largeBytes = 1_000_000;

let before: Promise<unknown> = Promise.resolve();

/** Resolves when it is the caller's turn, which lasts until the caller waits for something. */
export function largeTurn(): Promise<void> {
  return new Promise((begin) => {
    before = before.then(async () => {
      await nextTurn();
      const startedAt = performance.now();
      begin();
      await nextTurn();
      await delay(performance.now() - startedAt);
    });
  });
}
