import { NotFoundError } from '../../errors.ts';
import { Job } from '../jobs/job.ts';
import { changedJobs } from '../jobs/read-jobs.ts';
import { builder } from './builder.ts';
import { selectedFields } from './selection.ts';

type Types = typeof builder.$inferSchemaTypes;

/** The `job` field of a payload. Its progress includes what the mutation did. */
export function jobField(t: PothosSchemaTypes.ObjectFieldBuilder<Types, { jobId: string }>) {
  return t.prismaField({
    type: Job,
    description: 'The job after the mutation.',
    resolve: async (query, { jobId }, _, context, info) => {
      // Nothing needs to be read for what most callers ask for.
      const shown = selectedFields(info, []);
      if (shown.size === 1 && shown.has('id')) return { id: jobId } as never;
      const job = await context.engine.database.prisma.job.findUnique({ ...query, where: { id: jobId } });
      if (job === null) throw new NotFoundError(`There is no job ${jobId}.`);
      changedJobs(context).add(jobId);
      return job;
    },
  });
}

/** The input of a mutation that concerns one job. */
export function jobInput(name: string, description: string) {
  return builder.inputType(name, {
    description,
    fields: (t) => ({
      jobId: t.id({ required: true, description: 'The job.' }),
    }),
  });
}
