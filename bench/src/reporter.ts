/** A worker with a fixed pace, whose progress is watched. */
import { type Child, startChild } from './child.ts';
import type { WorkerTask } from './task.ts';

/** Resolves when the first results have been reported. */
export async function startReporter(
  task: WorkerTask & { readonly perSecond: number },
): Promise<Pick<Child, 'stop'>> {
  let onDone = (_done: number) => {};
  const child = startChild('jobtree-http-worker', task, { onDone: (done) => onDone(done) });
  const started = new Promise<void>((resolve) => {
    onDone = (done) => {
      if (done > 0) resolve();
    };
  });
  await Promise.race([started, child.outcome]);
  return child;
}
