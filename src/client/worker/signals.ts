/** Handles SIGINT and SIGTERM, for a program that gets to finish its work. */

const names = ['SIGINT', 'SIGTERM'] as const;
const numbers = { SIGINT: 2, SIGTERM: 15 };
/** Under `npm run`, one Ctrl-C arrives twice: from the terminal, and forwarded by npm. */
const echoMs = 500;

/**
 * Calls `onSignal` at each signal, with its number from 1, and with the exit code of a process that this signal ends.
 *
 * @returns a function that stops listening, after a signal as soon as it can't arrive again: that would end the process
 */
export function onSignals(onSignal: (count: number, exitCode: number) => void): () => void {
  let count = 0;
  let last: { readonly name: string; readonly at: number } | undefined;
  const listener = (name: (typeof names)[number]) => {
    const at = performance.now();
    if (last?.name === name && at - last.at <= echoMs) return;
    last = { name, at };
    onSignal(++count, 128 + numbers[name]);
  };
  for (const name of names) process.on(name, listener);
  const ignore = () => {
    for (const name of names) process.off(name, listener);
  };
  return () => {
    if (last === undefined) ignore();
    else setTimeout(ignore, echoMs).unref();
  };
}
