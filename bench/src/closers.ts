/** What has to be undone, last thing first, however the program ends: at its end, after an error, or by a signal. */
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

/** The first signal cleans up and ends; children that it reached as well are gone by then, which is no error. */
export function closeOnSignals(): void {
  for (const [signal, exitCode] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.on(signal, () => void closeAll().then(() => process.exit(exitCode)));
  }
}
