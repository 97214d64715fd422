/** One piece of work: a sealed job with a single item, and what becomes of it. */
import { type DefinedType, defineType } from './define-type.ts';
import { JobtreeError } from './errors.ts';
import type { ItemSpec, JobPolicies, JobSpec } from './job-spec.ts';
import { refuseUnknown } from './options.ts';
import type { CallOptions, Item } from './types.ts';

/** Options of `client.enqueue`: those of its job, and the `serializeKey` of its item. */
export interface EnqueueOptions
  extends CallOptions,
    Omit<JobPolicies, 'finalStage'>,
    Pick<JobSpec, 'dedupeKey' | 'runAt' | 'callbacks' | 'retentionSeconds'>,
    Pick<ItemSpec, 'serializeKey'> {}

/** A piece of work that was enqueued. */
export interface Enqueued<Result> {
  /** The id of its job: for `client.job`, `cancelJob`, `watchJob`, `deleteJob` and the API. */
  readonly id: string;
  /** False if there was work of this type with the `dedupeKey`, which this then is. */
  readonly created: boolean;
  /**
   * Waits for its outcome and returns the result. The wait has no limit, so pass a `signal`: aborting it throws its reason, and
   * the work goes on. You can call it again.
   *
   * @throws JobtreeError ITEM_FAILED, with the item's last `failure`, if it failed for good; ITEM_CANCELLED; NOT_FOUND or
   *   ITEM_CANCELLED if the job was deleted meanwhile
   */
  result(options?: CallOptions): Promise<Result>;
}

const enqueueOptions = {
  signal: true,
  dedupeKey: true,
  priority: true,
  runAt: true,
  serializeKey: true,
  serializeOnFailure: true,
  maxFailuresPerItem: true,
  backoffMs: true,
  backoffJitter: true,
  heartbeatIntervalMs: true,
  toleratedFailureCount: true,
  toleratedFailurePercentage: true,
  callbacks: true,
  retentionSeconds: true,
} satisfies Record<keyof EnqueueOptions, true>;

/** The job of one piece of work. @throws JobtreeError INVALID_INPUT for an option that does not exist */
export function jobOfOne(
  type: DefinedType<unknown, unknown> | string,
  payload: unknown,
  options: EnqueueOptions,
): JobSpec {
  refuseUnknown(options, enqueueOptions);
  const { signal, serializeKey, ...policies } = options;
  const { job, item } = typeof type === 'string' ? defineType(type) : type;
  return job({ ...policies, items: [item(payload, { serializeKey })], sealed: true });
}

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
