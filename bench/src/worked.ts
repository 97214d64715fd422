/** The run that most measures use: fills a job, lets a worker process all of it, and checks the tables. */
import type { JobPolicies } from '../../dist/client/index.js';
import { type Bench, type Jobtree, runChild } from './bench.ts';
import { checkWorked } from './checks.ts';
import type { Run } from './figures.ts';
import { createJob, fillJob } from './jobtree.ts';
import type { WorkerTask } from './task.ts';

export interface Work extends Omit<WorkerTask, 'url' | 'target' | 'laterTargets'> {
  readonly items: number;
  /** The child that works. Default: the WebSocket worker. */
  readonly child?: string;
  readonly policies?: JobPolicies;
  /** How many serialize keys the items have. Default: none. */
  readonly keys?: number;
}

export async function runWork(
  bench: Pick<Bench, 'postgres'>,
  jobtree: Jobtree,
  { child = 'jobtree-worker', policies, keys, ...work }: Work,
): Promise<Run> {
  const { database, server } = jobtree;
  const { id, type } = await createJob(server.url, policies);
  await fillJob(database.pool, id, work.items, keys);
  const task: WorkerTask = { ...work, url: server.url, target: type };
  const run = await runChild(bench, child, task, jobtree);
  const failures = work.failEvery === undefined ? 0 : Math.ceil(work.items / work.failEvery);
  await checkWorked(server.url, database.pool, id, work.items, failures);
  return run;
}
