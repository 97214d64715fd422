/** `jobtree work`: a worker that needs no code, only a command. */
import { createClient, JobtreeError, Worker } from '../../client/index.ts';
import type { ApiOptions } from '../api-options.ts';
import { CommandError } from '../command-error.ts';
import { exitCodes } from '../exit-codes.ts';
import { catchInterruption } from '../interruption.ts';
import { isRunnable } from '../work/find-program.ts';
import { Report } from '../work/report.ts';
import { killAll, runCommand } from '../work/run-command.ts';

export interface WorkOptions extends ApiOptions {
  readonly concurrency: number;
  readonly name?: string;
  readonly verbose?: true;
  /** In milliseconds. */
  readonly stopWhenIdle?: number;
  /** In milliseconds. */
  readonly stopTimeout: number;
}

export async function work(
  type: string,
  [program = '', ...args]: string[],
  options: WorkOptions,
): Promise<number> {
  if (!isRunnable(program)) throw new CommandError(exitCodes.usage, `There is no program ${program} to run.`);
  const client = createClient({ url: options.url });
  const running = new Set<Promise<unknown>>();
  const worker = new Worker({
    client,
    name: options.name,
    stopTimeoutMs: options.stopTimeout,
    maxResultBytes: 50_000_000, // the server's own limit counts
    types: {
      [type]: {
        concurrency: options.concurrency,
        handler: (payload, context) => {
          const run = runCommand({ program, args, url: options.url }, payload, context);
          running.add(run);
          return run.finally(() => running.delete(run));
        },
      },
    },
  });
  const report = new Report(worker, options);
  const interruption = catchInterruption(killAll);
  const ends: Promise<unknown>[] = [
    new Promise((resolve) => interruption.signal.addEventListener('abort', resolve)),
  ];
  let isRefused = false;
  ends.push(
    refusal(worker).then(() => {
      isRefused = true;
    }),
  );
  if (options.stopWhenIdle !== undefined) ends.push(idleFor(worker, running, options.stopWhenIdle));

  await worker.start();
  await Promise.race(ends);
  await worker.stop();
  await Promise.allSettled(running); // what was aborted has some seconds to end
  await client.close();
  report.end();
  return isRefused ? exitCodes.failure : exitCodes.success;
}

/** Resolves when the server refuses the key, or the type to it: another key comes by a new start alone. */
function refusal(worker: Worker): Promise<void> {
  return new Promise((resolve) => {
    worker.on('error', (error) => {
      if (error instanceof JobtreeError && ['UNAUTHENTICATED', 'FORBIDDEN'].includes(error.code)) resolve();
    });
  });
}

/** Resolves when nothing has been worked on for so long, with a server that could have given work. */
function idleFor(worker: Worker, running: ReadonlySet<unknown>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    let connected = false;
    const timer = setTimeout(() => (connected && running.size === 0 ? resolve() : timer.refresh()), ms);
    worker.on('connected', () => {
      connected = true;
      timer.refresh();
    });
    worker.on('disconnected', () => {
      connected = false;
    });
    for (const event of ['claimed', 'succeeded', 'failed'] as const) worker.on(event, () => timer.refresh());
  });
}
