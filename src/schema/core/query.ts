import { checkName, checkText } from '../../domain/values/checks.ts';
import { itemIdOf } from '../../domain/values/ids.ts';
import { maxDedupeKeyLength, maxNameLength } from '../../domain/values/limits.ts';
import { NotFoundError } from '../../errors.ts';
import { JobItem } from '../items/job-item.ts';
import { Job } from '../jobs/job.ts';
import { checkAnswerSize } from './answer-size.ts';
import { builder } from './builder.ts';
import { itemKeyOf, keyOf } from './global-id.ts';
import { inScope, sees } from './scope.ts';

export const Query = builder.queryType({
  description:
    'Operations that read. A field that is refused or fails is null, and `errors` says why, with a code in `extensions.code` (docs/errors.md lists all); the other fields are not affected.',
  fields: (t) => ({
    job: t.prismaField({
      seenBy: 'PROGRESS',
      authScopes: { may: 'read' },
      type: Job,
      nullable: true,
      description: 'One job. NOT_FOUND if it does not exist, or no longer exists.',
      args: { id: t.arg.id({ required: true, description: 'The id of the job.' }) },
      resolve: async (query, _, { id }, context) => {
        const where = { id: keyOf('Job', id, 'id') };
        const job = (await sees(context, where.id))
          ? await context.engine.database.prisma.job.findUnique({ ...query, where })
          : null;
        if (job === null) throw new NotFoundError(`There is no job ${id}.`, 'id');
        return job;
      },
    }),
    jobByDedupeKey: t.prismaField({
      authScopes: { may: 'read' },
      type: Job,
      nullable: true,
      description: 'The job of a type with a dedupe key. Null if it does not exist, or no longer exists.',
      args: {
        type: t.arg.string({ required: true, description: 'The type: 1 to 200 characters.' }),
        dedupeKey: t.arg.string({ required: true, description: 'The dedupe key: 1 to 500 characters.' }),
      },
      resolve: async (query, _, { type, dedupeKey }, context) => {
        const key = {
          type: checkName(type, 'type', maxNameLength),
          dedupeKey: checkText(dedupeKey, 'dedupeKey', maxDedupeKeyLength),
        };
        // In one query, so that response times do not reveal a job that the caller may not see.
        const where = { ...key, ...inScope(context.caller) };
        return context.engine.database.prisma.job.findFirst({ ...query, where });
      },
    }),
    item: t.field({
      seenBy: 'ITEMS',
      authScopes: { may: 'read' },
      type: JobItem,
      nullable: true,
      description: 'One item. NOT_FOUND if it does not exist, or no longer exists.',
      args: { id: t.arg.id({ required: true, description: 'The id of the item.' }) },
      resolve: async (_, { id }, context, info) => {
        const key = itemKeyOf(id, 'id');
        if (!(await sees(context, key.jobId))) throw new NotFoundError(`There is no item ${id}.`, 'id');
        await checkAnswerSize([key], context, info);
        return itemIdOf(key);
      },
    }),
  }),
});
