/** What can be watched: the progress of a job, of a tree, and whether there is work. */
import type { JobtreeError } from './errors.ts';
import { jobProgress, jobTreeProgress, workAvailable } from './operations.ts';
import type { Socket } from './socket.ts';
import type { JobProgress, JobTreeProgress } from './types.ts';
import { watch } from './watch.ts';

const patience = 10;

export function watchJob(socket: Socket, jobId: string, signal: AbortSignal) {
  let last: JobProgress | undefined;
  const take = (data: { jobProgress: JobProgress }) => {
    if (!isNews(last, data.jobProgress)) return undefined;
    last = data.jobProgress;
    return last;
  };
  const isFinal = (progress: JobProgress) => progress.status === 'COMPLETED';
  const variables = () => ({ jobId, sinceRevision: last?.revision ?? null });
  return watch(socket, jobProgress, variables, { take, isFinal, patience }, signal);
}

export function watchTree(socket: Socket, rootId: string, signal: AbortSignal) {
  const jobs = new Map<string, JobProgress>();
  let sinceRevision: string | null = null;
  const take = ({ jobTreeProgress: tree }: { jobTreeProgress: JobTreeProgress }): JobTreeProgress => {
    for (const job of tree.jobs) if (isNews(jobs.get(job.jobId), job)) jobs.set(job.jobId, job);
    sinceRevision = tree.revision;
    return { ...tree, jobs: [...jobs.values()] };
  };
  const isFinal = (tree: JobTreeProgress) => tree.complete;
  return watch(
    socket,
    jobTreeProgress,
    () => ({ rootId, sinceRevision }),
    { take, isFinal, patience },
    signal,
  );
}

/** Yields for every hint, though hints that nobody has read yet count once; `onTypes` hears of each. */
export function watchWork(
  socket: Socket,
  types: readonly string[],
  options: {
    patience: number;
    onTypes?: (types: readonly string[]) => void;
    onLost?: (error: JobtreeError) => void;
  },
  signal: AbortSignal,
) {
  const { onTypes, onLost } = options;
  const take = (data: { workAvailable: { types: readonly string[] } }): true => {
    onTypes?.(data.workAvailable.types);
    return true;
  };
  const watched = { take, isFinal: () => false, patience: options.patience, ...(onLost && { onLost }) };
  return watch(socket, workAvailable, () => ({ types: [...types] }), watched, signal);
}

/** The final state always: a Postgres that was set back, to a backup or a standby that was behind, may count less than before. */
function isNews(last: JobProgress | undefined, next: JobProgress): boolean {
  return last === undefined || next.revision > last.revision || next.status === 'COMPLETED';
}
