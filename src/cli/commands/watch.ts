/** `jobtree watch`: how far a job is, or a whole tree, until it is complete. */
import type { Client, JobProgress } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { catchInterruption, type Interruption } from '../interruption.ts';
import { showJobs, typesOfTree } from '../job-progress.ts';
import { oneLine, print } from '../output.ts';
import { createProgressDisplay } from '../progress-display.ts';
import { printSummary, summarise } from '../summary.ts';

export interface WatchOptions extends ApiOptions {
  readonly tree?: true;
}

export async function watch(
  id: string,
  options: WatchOptions,
  interruption: Interruption = catchInterruption(),
): Promise<number> {
  const { signal } = interruption;
  try {
    return await withClient(options, (client) => follow(client, id, options, signal));
  } catch (error) {
    if (signal.aborted) return interruption.exitCode;
    throw error;
  }
}

async function follow(
  client: Client,
  id: string,
  options: WatchOptions,
  signal: AbortSignal,
): Promise<number> {
  // Asked first, since a subscription would wait for a server that is not there.
  const job = await client.job(id, { signal });
  const types = options.tree ? await typesOfTree(client, job.root.id, signal) : new Map([[job.id, job.type]]);
  const states = options.tree ? treeStates(client, job.root.id, signal) : jobStates(client, job.id, signal);
  const final = await (options.json ? printJson(states, types) : draw(states, types));
  signal.throwIfAborted();
  let allWell = true;
  for (const progress of final) {
    const type = types.get(progress.jobId) ?? '';
    const summary = await summarise(client, type, progress);
    if (options.json) print(`${JSON.stringify({ event: 'summary', ...summary })}\n`);
    else printSummary(types.size > 1 ? `${oneLine(type)}: ` : '', summary);
    const { outcome } = progress;
    allWell &&= progress.succeeded === progress.itemCount && outcome !== 'FAILED' && outcome !== 'CANCELLED';
  }
  return allWell ? exitCodes.success : exitCodes.itemsFailed;
}

type States = AsyncGenerator<readonly JobProgress[], void, undefined>;

async function* jobStates(client: Client, id: string, signal: AbortSignal): States {
  for await (const progress of client.watchJob(id, { signal })) yield [progress];
}

async function* treeStates(client: Client, rootId: string, signal: AbortSignal): States {
  for await (const tree of client.watchTree(rootId, { signal })) yield tree.jobs;
}

async function draw(states: States, types: ReadonlyMap<string, string>): Promise<readonly JobProgress[]> {
  const display = createProgressDisplay(process.stdout, 250);
  try {
    return await last(states, (jobs) => showJobs(display, jobs, types));
  } finally {
    display.end();
  }
}

/** Only what has changed since the line before. */
function printJson(states: States, types: ReadonlyMap<string, string>): Promise<readonly JobProgress[]> {
  const printed = new Map<string, JobProgress>();
  return last(states, (jobs) => {
    for (const progress of jobs) {
      if (printed.get(progress.jobId) === progress) continue;
      printed.set(progress.jobId, progress);
      const line = { event: 'progress', type: types.get(progress.jobId), ...progress };
      print(`${JSON.stringify(line)}\n`);
    }
  });
}

async function last(
  states: States,
  onState: (jobs: readonly JobProgress[]) => void,
): Promise<readonly JobProgress[]> {
  let jobs: readonly JobProgress[] = [];
  for await (jobs of states) onState(jobs);
  return jobs;
}
