/** jobtree-client/adapters/drizzle: jobs and items in a transaction of Drizzle, with `pg` or postgres.js. */
import { type SQL, sql } from 'drizzle-orm';
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

/** A transaction of Drizzle on Postgres; not the database itself, which has none open. */
export interface DrizzleTransaction {
  execute(query: SQL): PromiseLike<unknown>;
  rollback(): never;
}

/**
 * Creates a whole tree of jobs when the transaction commits, and nothing if it does not.
 *
 * @param tx what `db.transaction(async (tx) => …)` gives you
 * @returns the root's id; `created` is false if a job with its dedupe key existed
 * @throws JobtreeError INVALID_INPUT, with the path to what is wrong. What Postgres refuses ends your transaction: let it throw.
 */
export function createJob(
  tx: DrizzleTransaction,
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
    // Of postgres.js the rows themselves, of pg an object that has them.
    return Array.isArray(answer) ? answer : (answer as { rows: unknown[] }).rows;
  };
}
