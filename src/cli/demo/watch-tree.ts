/** Shows the jobs of a tree until they are complete, and gives their final states. */
import type { Client, JobProgress } from '../../client/index.ts';
import { showTree } from '../job-progress.ts';
import { createProgressDisplay } from '../progress-display.ts';

export async function watchTree(
  client: Client,
  rootId: string,
  types: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<readonly JobProgress[]> {
  const display = createProgressDisplay(process.stdout, 500);
  let jobs: readonly JobProgress[] = [];
  try {
    for await (const tree of client.watchTree(rootId, { signal })) {
      jobs = tree.jobs;
      showTree(display, tree, types);
    }
  } finally {
    display.end();
  }
  return jobs;
}
