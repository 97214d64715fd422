/**
 * The watches: the progress of a job, a tree or an operation, and whether there is work. After a reconnection, the new server may
 * know less than the one before, so a state older than the known one is dropped.
 */
import type { WorkerInput } from '../generated/operations.ts';
import * as operations from '../generated/operations.ts';
import type { JobtreeError } from './errors.ts';
import type { Operations } from './socket.ts';
import type { JobProgress, JobTreeProgress, Operation, WatchOptions } from './types.ts';
import { watch } from './watch.ts';

/** Called when the server is away, or back. */
export type Hooks = Pick<WatchOptions, 'onDisconnected' | 'onConnected'>;

export function watchJob(socket: Operations, jobId: string, signal: AbortSignal, hooks: Hooks = {}) {
  let last: JobProgress | undefined;
  const take = (data: { jobProgress: JobProgress }) => {
    if (!isNews(last, data.jobProgress)) return undefined;
    last = data.jobProgress;
    return last;
  };
  const isFinal = (progress: JobProgress) => progress.completedAt != null;
  // With `onConnected`, asks for the state even if it is known, since its arrival shows that the server is back.
  const known = () => (hooks.onConnected === undefined ? last?.revision : undefined);
  const variables = () => ({ jobId, sinceRevision: known() ?? null });
  return watch(socket, operations.JobProgress, variables, { take, isFinal, ...hooks }, signal);
}

export function watchTree(socket: Operations, rootId: string, signal: AbortSignal, hooks: Hooks = {}) {
  const jobs = new Map<string, JobProgress>();
  let last: JobTreeProgress | undefined;
  const take = ({ jobTreeProgress: tree }: { jobTreeProgress: JobTreeProgress }) => {
    // An event has the jobs that changed since the previous event on the same connection.
    for (const job of tree.jobs) if (isNews(jobs.get(job.jobId), job)) jobs.set(job.jobId, job);
    if (last !== undefined && tree.revision <= last.revision && !tree.complete) return undefined;
    last = { ...tree, jobs: [...jobs.values()] };
    return last;
  };
  const isFinal = (tree: JobTreeProgress) => tree.complete;
  const known = () => (hooks.onConnected === undefined ? last?.revision : undefined);
  const variables = () => ({ rootId, sinceRevision: known() ?? null });
  return watch(socket, operations.JobTreeProgress, variables, { take, isFinal, ...hooks }, signal);
}

export function watchOperation(socket: Operations, operationId: string, signal: AbortSignal) {
  const take = (data: { operationProgress: Operation }) => data.operationProgress;
  const isFinal = (operation: Operation) => operation.status !== 'RUNNING';
  return watch(socket, operations.OperationProgress, () => ({ operationId }), { take, isFinal }, signal);
}

/** Yields for every hint, though unread hints merge into one; `onTypes` is called for each. */
export function watchWork(
  socket: Operations,
  types: readonly string[],
  options: {
    onTypes?: (types: readonly string[]) => void;
    onLost?: (error: JobtreeError) => void;
    /** The worker that waits for work. */
    worker?: WorkerInput;
  },
  signal: AbortSignal,
) {
  const { onTypes, onLost, worker = null } = options;
  const take = (data: { workAvailable: { types: readonly string[] } }): true => {
    onTypes?.(data.workAvailable.types);
    return true;
  };
  const watched = { take, isFinal: () => false, ...(onLost && { onLost }) };
  return watch(socket, operations.WorkAvailable, () => ({ types: [...types], worker }), watched, signal);
}

/** The final state always counts: a Postgres that was reset to a backup, or to a standby that lagged, may have a lower revision than before. */
function isNews(last: JobProgress | undefined, next: JobProgress): boolean {
  return last === undefined || next.revision > last.revision || next.completedAt != null;
}
