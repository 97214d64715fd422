import type { Statement } from '../../db/database.ts';
import { InvalidInputError } from '../../errors.ts';
import { toCheckedText } from '../values/checks.ts';
import type { CallbackEngine } from './endpoints.ts';

export interface NewCallback {
  readonly endpoint: string;
  /** TREE by default. */
  readonly on?: 'TREE' | 'JOB' | null | undefined;
}

/** Waits for a fold that is under way: if it completes the tree, this is refused, and otherwise a later fold calls the endpoints. */
export const callWhenComplete: Statement = {
  name: 'call_when_complete',
  text: 'select jobtree.add_callbacks($1, $2::jsonb) from jobtree.lock_root($1) t where t.completed_at is null',
};

/**
 * Adds endpoints to call when a tree that exists, or a job of it, is complete: not for jobs that are complete already, and refused for a tree that
 * is complete, since nothing would be sent.
 */
export async function addCallbacks(
  { database }: CallbackEngine,
  rootId: string,
  callbacks: readonly NewCallback[],
): Promise<void> {
  const [row] = await database.call(callWhenComplete, rootId, toCheckedText(callbacks));
  if (row === undefined)
    throw new InvalidInputError(`The tree of job ${rootId} is complete: nothing would be sent.`, 'jobId');
}
