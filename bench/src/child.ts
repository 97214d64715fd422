/**
 * Producers, workers and subscribers are processes of their own. The parent starts a child with its task and receives what it
 * sends; the child reads its task and ends with the parent. A service is a child that answers calls.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { atEnd } from './closers.ts';
import { cleanEnvironment } from './server.ts';

export interface Child {
  /** What it measured; rejects if the child ends without a result. */
  readonly outcome: Promise<Outcome>;
  /** Ends a child that would otherwise run for ever, and that then has an outcome. */
  stop(): Promise<void>;
}

/** A run of a child: how many items it processed in which time, and its own CPU time. */
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
  // During a cleanup nobody waits for the outcome.
  outcome.catch(() => {});
  const stop = async () => {
    child.send('stop');
    await exited;
  };
  return { outcome, stop };
}

type Methods = Readonly<Record<string, (...args: never[]) => unknown>>;

/** The methods of a service, as the parent calls them. */
export type Remote<Served extends Methods> = {
  readonly [Name in keyof Served]: (
    ...args: Parameters<Served[Name]>
  ) => Promise<Awaited<ReturnType<Served[Name]>>>;
};

/** Starts a child that answers calls, one at a time, until it is stopped. */
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

/** In a child that is a service: answers calls with these methods. */
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

/** In a child: reads its task, and ends the child with its parent. */
export function readTask<Task>(): Task {
  process.on('disconnect', () => process.exit());
  // Ctrl-C reaches all processes of a terminal; the parent decides what to do about it.
  process.on('SIGINT', () => {});
  return JSON.parse(process.argv[2] as string) as Task;
}

/** In a child that would otherwise run for ever: reports how far it is, and ends when it is told to. */
export function workUntilStopped(done: () => number, stop: () => Promise<void>): void {
  const tell = setInterval(() => process.send?.({ done: done() } satisfies Message), 100);
  process.once('message', () => {
    clearInterval(tell);
    void stop().then(() => process.exit());
  });
}

/** In a child: sends the outcome and ends. */
export function finish(outcome: Outcome): void {
  process.send?.({ outcome } satisfies Message, () => process.exit());
}
