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

/** Below `npm run` one Ctrl-C arrives twice: from the terminal, and passed on by npm. */
const echoMs = 500;

/** `onSecond` is called right before a second signal ends the process. */
export function catchInterruption(onSecond: () => void = () => {}): Interruption {
  const controller = new AbortController();
  const interruption = { signal: controller.signal, exitCode: 0 };
  let firstAt = 0;
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    const exitCode = 128 + constants.signals[name];
    process.on(name, () => {
      if (!controller.signal.aborted) {
        firstAt = performance.now();
        interruption.exitCode = exitCode;
        controller.abort();
      } else if (interruption.exitCode !== exitCode || performance.now() - firstAt > echoMs) {
        onSecond();
        process.exit(exitCode);
      }
    });
  }
  return interruption;
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}
