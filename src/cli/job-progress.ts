/** The progress of jobs on a display, with their types as names. */
import type { Client, JobProgress, JobTreeProgress } from '../client/index.ts';
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

/** A row for each job, with its note, if it has one. */
export function showJobs(
  display: ProgressDisplay,
  jobs: readonly JobProgress[],
  types: ReadonlyMap<string, string>,
  notes: ReadonlyMap<string, string> = new Map(),
): void {
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

/** A row for the tree and one for each job; for more jobs than a screen has lines, that of the tree alone. */
export function showTree(
  display: ProgressDisplay,
  tree: JobTreeProgress,
  types: ReadonlyMap<string, string>,
  notes?: ReadonlyMap<string, string>,
): void {
  const isAlone = types.size > 1 && types.size >= display.rows;
  // A single job says all that there is to say of its tree.
  if (types.size > 1) {
    display.show('tree', {
      label: '',
      share: tree.percent == null ? null : tree.itemProgress / Math.max(1, tree.itemCount),
      text: tree.message,
      figures: isAlone
        ? `${count(types.size - tree.openJobs)} of ${count(types.size)} jobs complete`
        : `${count(tree.itemProgress)}/${count(tree.itemCount)}`,
    });
  }
  if (!isAlone) showJobs(display, tree.jobs, types, notes);
}
