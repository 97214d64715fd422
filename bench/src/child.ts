/**
 * Producers, workers and subscribers are processes of their own. The parent side starts one with its task and gets what it
 * sends; the child's side takes the task and ends with the parent. One that serves is asked, and answers.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { atEnd } from './closers.ts';
import { cleanEnvironment } from './server.ts';

export interface Child {
  /** What it measured; rejects if it ends without. */
  readonly outcome: Promise<Outcome>;
  /** Ends one that would go on for ever; that is its outcome, then. */
  stop(): Promise<void>;
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
  const { child, exited } = forkChild(name, task, options.nodeArgs);
  let found: Outcome | undefined;
  child.on('message', (message: Message) => {
    if ('done' in message) options.onDone?.(message.done);
    else found = message.outcome;
  });
  const outcome = exited.then(([code, signal]) => {
    if (found === undefined) throw new Error(`${name} ended without a result: ${code ?? signal}`);
    return found;
  });
  // Who is cleaning up waits for no results.
  outcome.catch(() => {});
  const stop = async () => {
    child.send('stop');
    await exited;
  };
  return { outcome, stop };
}

type Methods = Readonly<Record<string, (...args: never[]) => unknown>>;

/** What a child answers, from here. */
export type Remote<Served extends Methods> = {
  readonly [Name in keyof Served]: (
    ...args: Parameters<Served[Name]>
  ) => Promise<Awaited<ReturnType<Served[Name]>>>;
};

/** A child that is asked, one question after the other, until it is stopped. */
export async function startService<Served extends Methods>(
  name: string,
  task: object,
): Promise<{ readonly ask: Remote<Served>; readonly stop: () => Promise<void> }> {
  const { child, exited } = forkChild(name, task);
  const gone = exited.then(([code, signal]) => {
    throw new Error(`${name} ended: ${code ?? signal}`);
  });
  gone.catch(() => {});
  const answer = async () => {
    const [message] = (await Promise.race([once(child, 'message'), gone])) as [Answer];
    if ('error' in message) throw new Error(`${name}: ${message.error}`);
    return message.value;
  };
  await answer();
  const call = (method: string, args: unknown[]) => {
    child.send({ method, args } satisfies Question);
    return answer();
  };
  const ask = new Proxy({} as Remote<Served>, {
    get:
      (_, method: string) =>
      (...args: unknown[]) =>
        call(method, args),
  });
  const stop = async () => {
    child.kill('SIGKILL');
    await exited;
  };
  return { ask, stop };
}

interface Question {
  readonly method: string;
  readonly args: readonly unknown[];
}

type Answer = { readonly value: unknown } | { readonly error: string };

function forkChild(name: string, task: object, nodeArgs: readonly string[] = []) {
  const file = fileURLToPath(new URL(`./children/${name}.ts`, import.meta.url));
  const child: ChildProcess = fork(file, [JSON.stringify(task)], {
    execArgv: ['--import', 'tsx', ...nodeArgs],
    env: cleanEnvironment(),
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  atEnd(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await exited;
  });
  return { child, exited };
}

/** In a child that serves: answers with these. */
export function serve(methods: Methods): void {
  const send = (answer: Answer) => process.send?.(answer);
  process.on('message', ({ method, args }: Question) => {
    Promise.resolve()
      .then(() => methods[method]?.(...(args as never[])))
      .then(
        (value) => send({ value }),
        (error) => send({ error: String(error) }),
      );
  });
  send({ value: undefined });
}

/** In a child: its task. */
export function readTask<Task>(): Task {
  process.on('disconnect', () => process.exit());
  // Ctrl-C reaches all processes of a terminal; the parent decides what to do about it.
  process.on('SIGINT', () => {});
  return JSON.parse(process.argv[2] as string) as Task;
}

/** In a child that would go on for ever: says how far it is, and ends when it is told to. */
export function workUntilStopped(done: () => number, stop: () => Promise<void>): void {
  const tell = setInterval(() => process.send?.({ done: done() } satisfies Message), 100);
  process.once('message', () => {
    clearInterval(tell);
    void stop().then(() => process.exit());
  });
}

/** In a child: the result, and the end. */
export function finish(outcome: Outcome): void {
  process.send?.({ outcome } satisfies Message, () => process.exit());
}
