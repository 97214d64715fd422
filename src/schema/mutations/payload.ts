import { NotFoundError } from '../../errors.ts';
import { builder } from '../builder.ts';
import { Job } from '../job.ts';
import { changedJobs } from '../read-jobs.ts';

type Types = typeof builder.$inferSchemaTypes;

/** The `job` field of a payload. Its progress includes what the mutation did. */
export function jobField(t: PothosSchemaTypes.ObjectFieldBuilder<Types, { jobId: string }>) {
  return t.prismaField({
    type: Job,
    description: 'The job after the mutation.',
    resolve: async (query, { jobId }, _, context) => {
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
