/**
 * Ctrl-C and SIGTERM. The first asks a command to end in good order, which is what its `signal` is for; the second ends
 * the process at once.
 */
import { constants } from 'node:os';

export interface Interruption {
  /** Aborts with the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  /** What a process that was ended by that signal exits with: 130 or 143. */
  readonly exitCode: number;
}

/** `onSecond` is called right before a second signal ends the process. */
export function catchInterruption(onSecond: () => void = () => {}): Interruption {
  const controller = new AbortController();
  const interruption = { signal: controller.signal, exitCode: 0 };
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      const exitCode = 128 + constants.signals[name];
      if (controller.signal.aborted) {
        onSecond();
        process.exit(exitCode);
      }
      interruption.exitCode = exitCode;
      controller.abort();
    });
  }
  return interruption;
}
