/** `jobtree work`: a worker that needs no code, only a command. */
import { createClient, Worker } from '../../client/index.ts';
import type { ApiOptions } from '../api-options.ts';
import { CommandError } from '../command-error.ts';
import { exitCodes } from '../exit-codes.ts';
import { counted } from '../figures.ts';
import { catchInterruption } from '../interruption.ts';
import { oneLine, print, printError } from '../output.ts';
import { isRunnable } from '../work/find-program.ts';
import { killAll, runCommand } from '../work/run-command.ts';

export interface WorkOptions extends ApiOptions {
  readonly concurrency: number;
  readonly name?: string;
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
  const counts = follow(worker, options);
  const interruption = catchInterruption(killAll);
  const ends = [new Promise((resolve) => interruption.signal.addEventListener('abort', resolve))];
  if (options.stopWhenIdle !== undefined) ends.push(idleFor(worker, running, options.stopWhenIdle));

  await worker.start();
  await Promise.race(ends);
  await worker.stop();
  await Promise.allSettled(running); // what was aborted has some seconds to end
  await client.close();
  if (!options.json) {
    const { succeeded, failed } = counts;
    printError(`Stopped: ${counted(succeeded, 'item')} succeeded, ${counted(failed, 'attempt')} failed.\n`);
  }
  return exitCodes.success;
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

/** What happens, on standard error; with `--json` every outcome on standard output. */
function follow(worker: Worker, options: ApiOptions): { succeeded: number; failed: number } {
  const counts = { succeeded: 0, failed: 0 };
  const say = (text: string) => printError(`${oneLine(text)}\n`);
  const sayJson = (fields: object) => print(`${JSON.stringify(fields)}\n`);
  worker.on('connected', () => say(`Connected to ${options.url} as ${worker.name}.`));
  worker.on('disconnected', (error) => say(`${error.message} Trying again…`));
  worker.on('succeeded', ({ itemId, attempt }) => {
    counts.succeeded++;
    if (options.json) sayJson({ event: 'succeeded', itemId, attempt });
  });
  worker.on('failed', ({ itemId, attempt }, { code, message, retryAt }) => {
    counts.failed++;
    if (options.json) sayJson({ event: 'failed', itemId, attempt, code, message, retryAt });
    else
      say(
        `${itemId} failed, attempt ${attempt} (${retryAt === null ? 'for good' : `again at ${retryAt}`}): ${code}: ${message}`,
      );
  });
  worker.on('stale', ({ itemId }) => say(`${itemId}: the outcome came too late.`));
  worker.on('aborted', ({ itemId }, code) => say(`${itemId}: aborted, ${code}.`));
  worker.on('released', ({ itemId }) => say(`${itemId}: given back.`));
  worker.on('error', (error, again) => {
    const text = error instanceof Error ? error.message : String(error);
    say(again === 0 ? text : `${text} (${counted(again, 'time')} more)`);
  });
  return counts;
}
