/**
 * Producers and workers are processes of their own. The parent side starts one with its task and gets what it sends; the
 * child's side takes the task and ends with the parent.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { atEnd } from './closers.ts';
import { cleanEnvironment } from './server.ts';

export interface Child {
  readonly pid: number;
  /** What it measured; rejects if it ends without. */
  readonly outcome: Promise<Outcome>;
  kill(): Promise<void>;
}

/** A run of a child: how many items in how much time, and the CPU time that it took itself. */
export interface Outcome {
  readonly items: number;
  readonly ms: number;
  readonly cpuMs: number;
}

type Message = { readonly outcome: Outcome } | { readonly done: number };

export function startChild(
  name: string,
  task: object,
  options: { onDone?: (done: number) => void; nodeArgs?: readonly string[] } = {},
): Child {
  const file = fileURLToPath(new URL(`./children/${name}.ts`, import.meta.url));
  const child = fork(file, [JSON.stringify(task)], {
    execArgv: ['--import', 'tsx', ...(options.nodeArgs ?? [])],
    env: cleanEnvironment(),
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  const kill = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await exited;
  };
  atEnd(kill);
  let found: Outcome | undefined;
  child.on('message', (message: Message) => {
    if ('done' in message) options.onDone?.(message.done);
    else found = message.outcome;
  });
  const outcome = exited.then(([code, signal]) => {
    if (found === undefined) throw new Error(`${name} ended without a result: ${code ?? signal}`);
    return found;
  });
  // Who kills a child does not wait for its result.
  outcome.catch(() => {});
  return { pid: child.pid as number, outcome, kill };
}

/** In a child: its task. */
export function readTask<Task>(): Task {
  process.on('disconnect', () => process.exit());
  // Ctrl-C reaches all processes of a terminal; the parent decides what to do about it.
  process.on('SIGINT', () => {});
  return JSON.parse(process.argv[2] as string) as Task;
}

/** In a child: how far it is. */
export function tellDone(done: number): void {
  process.send?.({ done } satisfies Message);
}

/** In a child: the result, and the end. */
export function finish(outcome: Outcome): void {
  process.send?.({ outcome } satisfies Message, () => process.exit());
}
