/** jobtree-client/adapters/drizzle: jobs and items in a transaction of Drizzle, with `pg` or postgres.js. */
import { type SQL, sql } from 'drizzle-orm';
import type { AddItemsResult } from '../client/add-items.ts';
import type { DefinedType } from '../client/define-type.ts';
import type { ItemSpec, JobSpec } from '../client/job-spec.ts';
import {
  type AdapterOptions,
  type AddOptions,
  addItems as add,
  createJob as create,
  type EnqueueOptions,
  enqueue as enqueueOne,
  type Run,
} from './calls.ts';

export type { AdapterOptions, AddItemsResult, AddOptions, EnqueueOptions, ItemSpec, JobSpec };

/** A Drizzle transaction on Postgres; not the database itself, which has no open transaction. */
export interface DrizzleTransaction {
  execute(query: SQL): PromiseLike<unknown>;
  rollback(): never;
}

/**
 * Creates a whole tree of jobs when the transaction commits, and nothing if it does not.
 *
 * @param tx the argument of your callback: `db.transaction(async (tx) => …)`
 * @returns the root's id; `created` is false if a job with its dedupe key existed
 * @throws JobtreeError INVALID_INPUT, with the path to what is wrong. A refusal by Postgres ends your transaction: let the error
 *   through.
 */
export function createJob(
  tx: DrizzleTransaction,
  job: JobSpec,
  options?: AdapterOptions,
): Promise<{ id: string; created: boolean }> {
  return create(runOn(tx), job, options);
}

/**
 * Enqueues one piece of work when the transaction commits: a sealed job with a single item.
 *
 * @param tx as for `createJob`
 * @param type a defined type, or its name
 * @returns the job's id; `created` is false if a job with its dedupe key existed
 * @throws JobtreeError INVALID_INPUT. A refusal by Postgres ends your transaction.
 */
export function enqueue<Payload>(
  tx: DrizzleTransaction,
  type: DefinedType<Payload, unknown> | string,
  payload: Payload,
  options?: EnqueueOptions,
): Promise<{ id: string; created: boolean }> {
  return enqueueOne(runOn(tx), type as string, payload, options);
}

/**
 * Adds any number of items to a job, in their order, when the transaction commits: all, or none.
 *
 * @param tx as for `createJob`
 * @throws JobtreeError INVALID_INPUT, NOT_FOUND, JOB_SEALED, JOB_FED_BY_PARENT. A refusal by Postgres ends your transaction.
 */
export function addItems(
  tx: DrizzleTransaction,
  jobId: string,
  items: readonly ItemSpec[],
  options?: AddOptions,
): Promise<AddItemsResult> {
  return add(runOn(tx), jobId, items, options);
}

function runOn(tx: DrizzleTransaction): Run {
  return async ({ strings, values }) => {
    const answer = await tx.execute(sql(strings, ...values));
    // postgres.js returns the rows themselves, pg an object with the rows.
    return Array.isArray(answer) ? answer : (answer as { rows: unknown[] }).rows;
  };
}
