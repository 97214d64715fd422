import { checkBatch, checkText } from '../domain/checks.ts';
import { maxNameLength } from '../domain/limits.ts';
import { InvalidInputError, NotFoundError } from '../errors.ts';
import { builder, type Services } from './builder.ts';
import { keyOf } from './global-id.ts';
import { JobProgress, JobTreeProgress } from './progress.ts';

const WorkAvailable = builder.objectRef<{ types: string[] }>('WorkAvailable').implement({
  description: 'A hint to claim.',
  fields: (t) => ({
    types: t.exposeStringList('types', { description: 'The types of which work may have appeared.' }),
  }),
});

builder.subscriptionType({
  description: 'What changes, as it changes.',
  fields: (t) => ({
    jobProgress: t.field({
      type: JobProgress,
      description:
        'How far a job is: its state now, then newer states as they come (a slow reader skips some), and at last the final one; then the stream completes. NOT_FOUND if there is no such job.',
      args: { jobId: t.arg.id({ required: true, description: 'The job.' }) },
      subscribe: async (_, { jobId }, services) => {
        const key = keyOf('Job', jobId, 'jobId');
        return services.hub.watch(await rootOf(services, key, 'jobId'), key);
      },
      resolve: ({ jobs: [progress] }) => {
        if (progress === undefined) throw new Error('An event without a job.');
        return progress;
      },
    }),
    jobTreeProgress: t.field({
      type: JobTreeProgress,
      description:
        'How far a tree is: all its jobs in the first event, then those that changed, until every job is complete; then the stream completes. NOT_FOUND if there is no such tree.',
      args: { rootId: t.arg.id({ required: true, description: 'The root of the tree.' }) },
      subscribe: async (_, { rootId }, services) => {
        const key = keyOf('Job', rootId, 'rootId');
        if ((await rootOf(services, key, 'rootId')) !== key) {
          throw new InvalidInputError(`Job ${key} is not the root of its tree.`, 'rootId');
        }
        return services.hub.watch(key);
      },
      resolve: (tree) => tree,
    }),
    workAvailable: t.field({
      type: WorkAvailable,
      description:
        'Hints for idle workers: one at the start, then when work of these types may have appeared. For a few items only a few subscribers get one, in turn, so claim at every hint, or as soon as there is room. Claiming stays a mutation, a hint may be lost or come for nothing, so poll slowly behind it.',
      args: {
        types: t.arg.stringList({
          required: true,
          description: 'The types that the worker can do: 1 to 1,000.',
        }),
      },
      subscribe: (_, { types }, { hints }) => {
        checkBatch(types.length, 'types');
        for (const [i, type] of types.entries()) checkText(type, `types[${i}]`, maxNameLength);
        return hints.subscribe(types);
      },
      resolve: (types) => ({ types }),
    }),
  }),
});

async function rootOf({ engine }: Services, jobId: string, field: string): Promise<string> {
  const job = await engine.database.prisma.job.findUnique({ where: { id: jobId }, select: { rootId: true } });
  if (job === null) throw new NotFoundError(`There is no job ${jobId}.`, field);
  return job.rootId;
}
