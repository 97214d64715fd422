/** What else the screens subscribe to, and how events become states. */
import {
  OperationChanges,
  type OperationChangesSubscription,
  type OperationStateFragment,
  Queues,
  type QueuesSubscription,
} from '../../generated/dashboard.ts';
import type { LiveSource } from './live.ts';

export type QueueRow = QueuesSubscription['queues'][number];

export const queues: LiveSource<QueuesSubscription, Record<string, never>, readonly QueueRow[]> = {
  document: Queues,
  variables: () => ({}),
  next: (_, { queues: rows }) => rows,
};

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
