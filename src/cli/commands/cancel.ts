/** `jobtree cancel`: a job and all below it, or all trees that match, come to their end; what is done stays. */
import type { Client, JobProgress } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { count, counted } from '../figures.ts';
import { printOutcome } from '../output.ts';
import { createProgressDisplay } from '../progress-display.ts';
import { operateOnTrees, type TreesOptions } from './operate-on-trees.ts';

export async function cancel(jobId: string | undefined, options: TreesOptions): Promise<number> {
  return operateOnTrees('CANCEL_TREES', jobId, options) ?? cancelJob(jobId as string, options);
}

async function cancelJob(jobId: string, options: ApiOptions): Promise<number> {
  const { cancelled } = await withClient(options, async (client) => {
    await client.cancelJob(jobId);
    return followToTheEnd(client, jobId);
  });
  const verb = cancelled === 1 ? 'was' : 'were';
  const text = `Cancelled: ${counted(cancelled, 'item')} ${verb} pending.`;
  printOutcome(options.json, { jobId, cancelledItems: cancelled }, text);
  return exitCodes.success;
}

/** The call has answered, and the server may still be at it. */
async function followToTheEnd(client: Client, jobId: string): Promise<JobProgress> {
  const display = createProgressDisplay(process.stderr, 1_000);
  let { progress } = await client.job(jobId);
  try {
    if (progress.completedAt == null) {
      for await (progress of client.watchJob(jobId)) {
        const { itemProgress, itemCount } = progress;
        if (progress.completedAt != null) break;
        display.show('job', {
          label: '',
          share: itemProgress / Math.max(1, itemCount),
          text: `Cancelling: ${count(itemProgress)} of ${counted(itemCount, 'item')} done…`,
        });
      }
    }
  } finally {
    display.end();
  }
  return progress;
}
