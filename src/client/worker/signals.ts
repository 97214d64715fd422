/** Handles SIGINT and SIGTERM, for a worker that is a program of its own. */

const names = ['SIGINT', 'SIGTERM'] as const;
const numbers = { SIGINT: 2, SIGTERM: 15 };
/** Under `npm run`, one Ctrl-C arrives twice: from the terminal, and forwarded by npm. */
const echoMs = 500;

/**
 * Calls `onFirst` at the first signal, and `onSecond` at the next one, with the exit code of a process that this signal ends.
 * After that, signals end the process as they do without a listener.
 *
 * @returns a function that stops listening
 */
export function onSignals(onFirst: () => void, onSecond: (exitCode: number) => void): () => void {
  let first: { readonly name: string; readonly at: number } | undefined;
  const listener = (name: (typeof names)[number]) => {
    if (first === undefined) {
      first = { name, at: performance.now() };
      onFirst();
    } else if (first.name !== name || performance.now() - first.at > echoMs) {
      off();
      onSecond(128 + numbers[name]);
    }
  };
  const off = () => {
    for (const name of names) process.off(name, listener);
  };
  for (const name of names) process.on(name, listener);
  return off;
}
