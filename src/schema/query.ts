import { itemIdOf } from '../domain/item-state.ts';
import { NotFoundError } from '../errors.ts';
import { checkAnswerSize } from './answer-size.ts';
import { builder } from './builder.ts';
import { itemKeyOf, keyOf } from './global-id.ts';
import { Job } from './job.ts';
import { JobItem } from './job-item.ts';
import { sees } from './scope.ts';

builder.queryType({
  description:
    'What is there. A refused field is null, with an error whose `extensions.code` is an ErrorCode.',
  fields: (t) => ({
    job: t.prismaField({
      seenBy: 'PROGRESS',
      authScopes: { may: 'read' },
      type: Job,
      nullable: true,
      description: 'One job. NOT_FOUND if there is none (any more).',
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
    item: t.field({
      seenBy: 'ITEMS',
      authScopes: { may: 'read' },
      type: JobItem,
      nullable: true,
      description: 'One item. NOT_FOUND if there is none (any more).',
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
