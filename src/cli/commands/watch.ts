/** `jobtree watch`: how far a job is, or a whole tree, until it is complete. */
import type { Client, JobProgress, JobTreeProgress, JobWithChildren } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { count } from '../figures.ts';
import { catchInterruption, type Interruption } from '../interruption.ts';
import { createProgressDisplay, type ProgressDisplay, type Row } from '../progress-display.ts';
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
  return withClient(options, async (client) => {
    // Asked first, since a subscription would wait for a server that is not there.
    const job = await client.job(id, { signal });
    const types = options.tree ? await typesOfTree(client, job.root.id, signal) : new Map([[id, job.type]]);
    const show = options.json ? printJson() : undefined;
    const display = createProgressDisplay(process.stdout, 250);
    const shown = show ?? showProgress(display, types);
    let last: readonly JobProgress[] = [];
    try {
      for await (const jobs of options.tree ? treeStates(client, job, signal) : jobStates(client, id, signal)) {
        last = jobs;
        shown(jobs);
      }
    } finally {
      display.end();
    }
    if (signal.aborted) return interruption.exitCode;
    let allWell = true;
    for (const progress of last) {
      const summary = await summarise(client, types.get(progress.jobId) ?? '', progress);
      printSummary(summary, { json: options.json === true, withType: types.size > 1 });
      if (summary.succeeded < summary.itemCount) allWell = false;
    }
    return allWell ? exitCodes.success : exitCodes.itemsFailed;
  });
}
