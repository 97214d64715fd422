/** `jobtree delete`: a whole tree, or all that match, are gone, with their items and results. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Client, JobtreeError } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { count, counted } from '../figures.ts';
import { printOutcome } from '../output.ts';
import { createProgressDisplay } from '../progress-display.ts';
import { operateOnTrees, type TreesOptions } from './operate-on-trees.ts';

const pollMs = 500;

export async function remove(jobId: string | undefined, options: TreesOptions): Promise<number> {
  return operateOnTrees('DELETE_TREES', jobId, options) ?? deleteJob(jobId as string, options);
}

async function deleteJob(jobId: string, options: ApiOptions): Promise<number> {
  await withClient(options, async (client) => {
    const { deleted } = await client.deleteJob(jobId);
    if (!deleted) await untilGone(client, jobId);
  });
  printOutcome(options.json, { jobId }, 'Deleted.');
  return exitCodes.success;
}

/** A large tree goes in the background, whether or not anybody waits for it. */
async function untilGone(client: Client, jobId: string): Promise<void> {
  const display = createProgressDisplay(process.stderr, 1_000);
  try {
    for (;;) {
      const { deletion } = await client.job(jobId);
      if (deletion != null) {
        const { itemCount, deletedItems } = deletion;
        display.show('tree', {
          label: '',
          share: Math.min(1, deletedItems / Math.max(1, itemCount)),
          text: `Deleting: ${count(deletedItems)} of ${counted(itemCount, 'item')}…`,
        });
      }
      await delay(pollMs);
    }
  } catch (error) {
    if (!(error instanceof JobtreeError && error.code === 'NOT_FOUND')) throw error;
  } finally {
    display.end();
  }
}
