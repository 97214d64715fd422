/** jobtree-client/adapters/pg: jobs and items in a transaction of the package `pg`. */
import type { ClientBase } from 'pg';
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
  numbered,
  type Run,
} from './calls.ts';

export type { AdapterOptions, AddItemsResult, AddOptions, EnqueueOptions, ItemSpec, JobSpec };

/**
 * Creates a whole tree of jobs when the transaction commits, and nothing if it does not.
 *
 * @param tx the client on which you ran `begin`; not a pool, which gives each statement another connection
 * @returns the root's id; `created` is false if a job with its dedupe key existed
 * @throws JobtreeError INVALID_INPUT, with the path to what is wrong. A refusal by Postgres ends your transaction: roll it back.
 */
export function createJob(
  tx: ClientBase,
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
  tx: ClientBase,
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
  tx: ClientBase,
  jobId: string,
  items: readonly ItemSpec[],
  options?: AddOptions,
): Promise<AddItemsResult> {
  return add(runOn(tx), jobId, items, options);
}

function runOn(tx: ClientBase): Run {
  return async (statement) => {
    // A pool would commit each statement by itself, and programs in JavaScript have no type check against it.
    if ('totalCount' in tx)
      throw new TypeError(
        'tx is a pool: it must be the client on which you began the transaction (await pool.connect()).',
      );
    return (await tx.query(numbered(statement), [...statement.values])).rows;
  };
}
