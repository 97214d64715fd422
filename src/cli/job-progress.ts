/** The progress of jobs on a display, with their types as names. */
import type { Client, JobProgress } from '../client/index.ts';
import { count } from './figures.ts';
import type { ProgressDisplay } from './progress-display.ts';

/** The type of each job in the tree, by its id. */
export async function typesOfTree(
  client: Client,
  rootId: string,
  signal?: AbortSignal,
): Promise<Map<string, string>> {
  const types = new Map<string, string>();
  let level = [rootId];
  while (level.length > 0) {
    const next: string[] = [];
    for (const id of level) {
      const job = await client.job(id, { signal });
      types.set(id, job.type);
      next.push(...job.children.map((child) => child.id));
    }
    level = next;
  }
  return types;
}

/** A row for each job, with its note, if it has one; for more jobs than a screen has lines, one for all of them. */
export function showJobs(
  display: ProgressDisplay,
  jobs: readonly JobProgress[],
  types: ReadonlyMap<string, string>,
  notes: ReadonlyMap<string, string> = new Map(),
): void {
  if (types.size > display.rows) {
    const complete = jobs.filter((job) => job.completedAt != null).length;
    const share = complete / types.size;
    display.show('tree', {
      label: '',
      share,
      text: `${count(complete)} of ${count(types.size)} jobs complete`,
    });
    return;
  }
  for (const job of jobs) {
    display.show(job.jobId, {
      label: types.size > 1 ? (types.get(job.jobId) ?? '') : '',
      share: job.percent == null ? null : job.itemProgress / Math.max(1, job.itemCount),
      text: job.message,
      figures: `${count(job.itemProgress)}/${count(job.itemCount)}`,
      note: notes.get(job.jobId),
    });
  }
}
