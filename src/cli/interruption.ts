/**
 * Ctrl-C and SIGTERM. The first asks a command to end in good order, which is what its `signal` is for; the second ends the process at once, or
 * leaves the command a second to give back what it has.
 */
import { onSignals } from '../client/worker/signals.ts';

export interface Interruption {
  /** Aborts with the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  /** What a process that was ended by the last of these signals exits with: 130 or 143. */
  readonly exitCode: number;
  /** Whether there was a second signal. */
  readonly isUrgent: boolean;
}

/** How long a command has after a second signal. */
const hurryMs = 1_000;

/**
 * `onEnd` is called right before a signal ends the process. With `hurry`, that is a third signal, or the end of the time that the command has
 * after a second one, at which `hurry` is called.
 */
export function catchInterruption({
  onEnd,
  hurry,
}: {
  onEnd?: () => void;
  hurry?: () => void;
} = {}): Interruption {
  const controller = new AbortController();
  const interruption = { signal: controller.signal, exitCode: 0, isUrgent: false };
  onSignals((count, exitCode) => {
    interruption.exitCode = exitCode;
    interruption.isUrgent = count > 1;
    if (count === 1) return controller.abort();
    const end = () => {
      onEnd?.();
      process.exit(exitCode);
    };
    if (hurry === undefined || count > 2) return end();
    hurry();
    setTimeout(end, hurryMs).unref();
  });
  return interruption;
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}
