/** `jobtree work`: a worker that needs no code, only a command. */
import { createClient, JobtreeError, Worker } from '../../client/index.ts';
import type { ApiOptions } from '../api-options.ts';
import { CommandError } from '../command-error.ts';
import { exactly } from '../exact-json.ts';
import { exitCodes } from '../exit-codes.ts';
import { catchInterruption } from '../interruption.ts';
import { isRunnable } from '../work/find-program.ts';
import { Report } from '../work/report.ts';
import { killAll, runCommand } from '../work/run-command.ts';

export interface WorkOptions extends ApiOptions {
  readonly concurrency: number;
  readonly name?: string;
  readonly verbose?: true;
  readonly passToken?: true;
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
  if (type === '')
    throw new CommandError(exitCodes.usage, 'type is empty: name the type of the jobs to work on.');
  if (!isRunnable(program)) throw new CommandError(exitCodes.usage, `There is no program ${program} to run.`);
  const command = { program, args, url: options.url, passToken: options.passToken === true };
  const client = createClient({ url: options.url, ...exactly });
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
          const run = runCommand(command, payload, context);
          running.add(run);
          return run.finally(() => running.delete(run));
        },
      },
    },
  });
  const report = new Report(worker, options);
  const interruption = catchInterruption({
    hurry: () => {
      killAll();
      // What was killed is given back before its end is noticed, which would be a failure.
      void worker.stop({ atOnce: true });
    },
    onEnd: () => report.endedAtOnce(),
  });
  const ends: Promise<unknown>[] = [
    new Promise((resolve) => interruption.signal.addEventListener('abort', resolve)),
  ];
  let isRefused = false;
  ends.push(
    refusal(worker).then(() => {
      isRefused = true;
    }),
  );
  if (options.stopWhenIdle !== undefined) ends.push(idleFor(worker, options.stopWhenIdle));

  await worker.start();
  await Promise.race(ends);
  report.stopping();
  await worker.stop();
  await Promise.allSettled(running); // what was aborted has some seconds to end
  await client.close();
  report.end();
  if (interruption.isUrgent) return interruption.exitCode;
  return isRefused || report.unknown > 0 ? exitCodes.failure : exitCodes.success;
}

/** Resolves when the server refuses the key, or the type to it: another key comes by a new start alone. */
function refusal(worker: Worker): Promise<void> {
  return new Promise((resolve) => {
    worker.on('error', (error) => {
      if (error instanceof JobtreeError && ['UNAUTHENTICATED', 'FORBIDDEN'].includes(error.code)) resolve();
    });
  });
}

/** Resolves when there has been nothing to do for so long: as the server says, which has to have answered. */
function idleFor(worker: Worker, ms: number): Promise<void> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    let isIdle = false;
    const wait = () => {
      clearTimeout(timer);
      if (isIdle) timer = setTimeout(resolve, ms);
    };
    const change = (idle: boolean) => () => {
      isIdle = idle;
      wait();
    };
    worker.on('idle', change(true));
    worker.on('claimed', change(false));
    worker.on('connected', wait);
    worker.on('disconnected', () => clearTimeout(timer));
  });
}
