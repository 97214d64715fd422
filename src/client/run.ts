/** What `client.run` takes, and what becomes of its item. */
import { JobtreeError } from './errors.ts';
import type { ItemSpec, JobPolicies, JobSpec } from './job-spec.ts';
import type { CallOptions, Item } from './types.ts';

/** Options of `client.run`: those of its job, and the `serializeKey` of its item. */
export interface RunOptions
  extends CallOptions,
    Omit<JobPolicies, 'finalStage'>,
    Pick<JobSpec, 'dedupeKey' | 'runAt' | 'callbacks' | 'retentionSeconds'>,
    Pick<ItemSpec, 'serializeKey'> {}

/** @throws JobtreeError ITEM_FAILED, ITEM_CANCELLED; NOT_FOUND if there is no item */
export function resultOf(item: Item | undefined, jobId: string): unknown {
  if (item === undefined) throw new JobtreeError('NOT_FOUND', `The job ${jobId} has no item.`);
  const { id: itemId, status, result, failures } = item;
  if (status === 'SUCCEEDED') return result;
  const failure = failures.at(-1);
  // An item that was replayed just now is waiting again, and still has the failure that it died of.
  if (status === 'CANCELLED' || failure === undefined)
    throw new JobtreeError('ITEM_CANCELLED', 'The item was cancelled.', { itemId, outcome: 'DONE' });
  throw new JobtreeError('ITEM_FAILED', failure.message, { itemId, failure, outcome: 'DONE' });
}
