/** What an operation reads of jobs: together for all that it shows, and with care for what is deleted meanwhile. */
import { createContextCache } from '@pothos/core';
import type { GraphQLResolveInfo } from 'graphql';
import { type JobProgress as JobProgressState, readProgress } from '../../domain/progress/progress.ts';
import { NotFoundError } from '../../errors.ts';
import type { Prisma } from '../../generated/prisma/client.ts';
import { createGroupLoader, createLoader, groupBy } from '../core/loader.ts';
import { inScope } from '../core/scope.ts';
import { selectedFields } from '../core/selection.ts';
import type { Services } from '../core/services.ts';

/** The jobs that mutations of this request have changed: their progress is shown only once it includes the change. */
export const changedJobs = createContextCache((_: Services) => new Set<string>());

export const progresses = createLoader(async (jobIds: readonly string[], { engine }) => {
  const found = await readProgress(engine.database, jobIds);
  const byId = new Map(found.map((progress) => [progress.jobId, progress]));
  return jobIds.map(
    (id): JobProgressState | Error => byId.get(id) ?? new NotFoundError(`There is no job ${id}.`),
  );
});

/** Progress that was read together with the jobs of a list. */
const progressOfListed = new WeakMap<object, JobProgressState>();

export function progressOf(job: ReadJob, context: Services): JobProgressState | Promise<JobProgressState> {
  return progressOfListed.get(job) ?? progresses(context).load(job.id);
}

/** A job as Prisma reads it, with the related jobs that an operation shows. */
interface ReadJob {
  readonly id: string;
  readonly root?: ReadJob | null;
  readonly parent?: ReadJob | null;
  readonly children?: readonly ReadJob[];
}

function withRelatives(job: ReadJob): ReadJob[] {
  const { root, parent, children = [] } = job;
  return [job, ...[root ?? [], parent ?? [], children].flat().flatMap(withRelatives)];
}

/** Fields that always exist for a job, but need a second read. */
const readLater = ['progress', 'items', 'root', 'parent', 'children'];

/**
 * The jobs of a list that still exist, with their progress if it is shown. Without this, a tree deleted after the first read
 * would turn the whole list into an error. A tree is deleted as a whole, so related jobs exist, too. `through`: the fields
 * between that of `info` and the jobs.
 */
export async function stillThere<Read extends ReadJob>(
  jobs: Read[],
  context: Services,
  info: GraphQLResolveInfo,
  through: readonly string[] = [],
): Promise<Read[]> {
  const shown = selectedFields(info, through);
  if (!readLater.some((field) => shown.has(field))) return jobs;
  const read = groupBy(jobs.flatMap(withRelatives), ({ id }) => id);
  const found = await progresses(context).loadMany([...read.keys()]);
  for (const progress of found) {
    if (progress instanceof NotFoundError) continue;
    if (progress instanceof Error) throw progress;
    for (const job of read.get(progress.jobId) ?? []) progressOfListed.set(job, progress);
  }
  return jobs.filter((job) => progressOfListed.has(job));
}

/** Jobs that others name, those of the caller's scope, read together for the same fields of an operation. */
const namedJobs = createGroupLoader(
  ({ info }: { ids: readonly string[]; query: Prisma.JobFindManyArgs; info: GraphQLResolveInfo }) =>
    info.fieldNodes,
  async (requests, { engine, caller }) => {
    const jobs = await engine.database.prisma.job.findMany({
      ...requests[0].query,
      where: { id: { in: requests.flatMap(({ ids }) => ids) }, ...inScope(caller) },
    });
    const byId = new Map(jobs.map((job) => [job.id, job]));
    return requests.map(({ ids }) => ids.flatMap((id) => byId.get(id) ?? []));
  },
);

/** Those that still exist and are in the caller's scope. */
export const loadJobs = async (
  ids: readonly string[],
  query: object,
  context: Services,
  info: GraphQLResolveInfo,
) => (ids.length === 0 ? [] : stillThere(await namedJobs(context).load({ ids, query, info }), context, info));

/** The jobs of whole trees, read together for the same fields of an operation. */
export const trees = createGroupLoader(
  ({ info }: { rootId: string; query: Prisma.JobFindManyArgs; info: GraphQLResolveInfo }) => info.fieldNodes,
  async (requests, { engine, caller }) => {
    const jobs = await engine.database.prisma.job.findMany({
      ...requests[0].query,
      where: { rootId: { in: requests.map(({ rootId }) => rootId) }, ...inScope(caller) },
      orderBy: [{ depth: 'asc' }, { id: 'asc' }],
    });
    const byRoot = groupBy(jobs, ({ rootId }) => rootId);
    return requests.map(({ rootId }) => byRoot.get(rootId) ?? []);
  },
);
