/** jobtree-client/adapters/kysely: jobs and items in a transaction of Kysely. */
import { sql, type Transaction } from 'kysely';
import type { AddItemsResult } from '../client/add-items.ts';
import type { ItemSpec, JobSpec } from '../client/job-spec.ts';
import {
  type AdapterOptions,
  type AddOptions,
  addItems as add,
  createJob as create,
  type Run,
} from './calls.ts';

export type { AdapterOptions, AddItemsResult, AddOptions, ItemSpec, JobSpec };

/**
 * Creates a whole tree of jobs when the transaction commits, and nothing if it does not.
 *
 * @param tx what `db.transaction().execute(async (tx) => …)` gives you
 * @returns the root's id; `created` is false if a job with its dedupe key existed
 * @throws JobtreeError INVALID_INPUT, with the path to what is wrong. What Postgres refuses ends your transaction: let it throw.
 */
export function createJob<DB>(
  tx: Transaction<DB>,
  job: JobSpec,
  options?: AdapterOptions,
): Promise<{ id: string; created: boolean }> {
  return create(runOn(tx), job, options);
}

/**
 * Adds items to a job, any number, in their order, when the transaction commits: all, or none.
 *
 * @param tx as `createJob` has it
 * @throws JobtreeError INVALID_INPUT, NOT_FOUND, JOB_SEALED, JOB_FED_BY_PARENT. What Postgres refuses ends your transaction.
 */
export function addItems<DB>(
  tx: Transaction<DB>,
  jobId: string,
  items: readonly ItemSpec[],
  options?: AddOptions,
): Promise<AddItemsResult> {
  return add(runOn(tx), jobId, items, options);
}

function runOn<DB>(tx: Transaction<DB>): Run {
  return async ({ strings, values }) => (await sql(strings, ...values).execute(tx)).rows;
}
