import { NotFoundError } from '../../errors.ts';
import { builder } from '../builder.ts';
import { Job } from '../job.ts';

type Types = typeof builder.$inferSchemaTypes;

/**
 * The `job` field of a payload. Where its progress is selected, the answer waits for the fold that counts what the
 * mutation did, so that the caller reads its own write.
 */
export function jobField(t: PothosSchemaTypes.ObjectFieldBuilder<Types, { jobId: string }>) {
  return t.prismaField({
    type: Job,
    description: 'The job, as the mutation left it.',
    resolve: async (query, { jobId }, _, { engine, folds }) => {
      const { prisma } = engine.database;
      const selected = { ...query.include, ...query.select };
      if ('progress' in selected) {
        const found = await prisma.job.findUnique({ where: { id: jobId }, select: { rootId: true } });
        if (found !== null) await folds.settled(found.rootId);
      }
      const job = await prisma.job.findUnique({ ...query, where: { id: jobId } });
      if (job === null) throw new NotFoundError(`There is no job ${jobId}.`);
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
