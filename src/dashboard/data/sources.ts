/** What else the screens subscribe to, and how events become states. */
import {
  ImportChanges,
  type ImportChangesSubscription,
  type ImportStateFragment,
  OperationChanges,
  type OperationChangesSubscription,
  type OperationStateFragment,
} from '../../generated/dashboard.ts';
import type { LiveSource } from './live.ts';

export function operationOf(
  operationId: string,
): LiveSource<OperationChangesSubscription, { operationId: string }, OperationStateFragment> {
  return {
    document: OperationChanges,
    variables: () => ({ operationId }),
    next: (_, { operationProgress }) => operationProgress,
    isFinal: ({ status }) => status !== 'RUNNING',
  };
}

/** A file that is being read: its state changes together with the progress of its job. */
export function importOf(
  jobId: string,
): LiveSource<ImportChangesSubscription, { jobId: string }, ImportStateFragment | undefined> {
  return {
    document: ImportChanges,
    variables: () => ({ jobId }),
    next: (known, { jobProgress: { job } }) => job?.import ?? known,
    isFinal: (state) => state?.finishedAt != null,
  };
}
