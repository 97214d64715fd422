/** Cleans up in reverse order, however the program ends: normally, after an error, or by a signal. */
type Closer = () => Promise<void> | void;

const closers: Closer[] = [];
let closing: Promise<void> | undefined;

export function atEnd(closer: Closer): void {
  closers.push(closer);
}

export function closeAll(): Promise<void> {
  closing ??= (async () => {
    for (const closer of closers.toReversed()) {
      try {
        await closer();
      } catch (error) {
        console.error('While cleaning up:', error);
      }
    }
  })();
  return closing;
}

/** A signal cleans up and ends the program. The running measurement then fails, which is not reported. */
export function closeOnSignals(): void {
  for (const [signal, exitCode] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.on(signal, () => {
      interruption.exitCode = exitCode;
      void closeAll().then(() => process.exit(exitCode));
    });
  }
}

/** The exit code for the signal that came; undefined without one. */
export const interruption: { exitCode: number | undefined } = { exitCode: undefined };
