import { itemIdOf } from '../domain/item-state.ts';
import { NotFoundError } from '../errors.ts';
import { checkAnswerSize } from './answer-size.ts';
import { builder } from './builder.ts';
import { itemKeyOf, keyOf } from './global-id.ts';
import { Job } from './job.ts';
import { JobItem } from './job-item.ts';

builder.queryType({
  description:
    'What is there. A refused field is null, with an error whose `extensions.code` is an ErrorCode.',
  fields: (t) => ({
    job: t.prismaField({
      type: Job,
      nullable: true,
      description: 'One job. NOT_FOUND if there is none (any more).',
      args: { id: t.arg.id({ required: true, description: 'The id of the job.' }) },
      resolve: async (query, _, { id }, { engine }) => {
        const job = await engine.database.prisma.job.findUnique({
          ...query,
          where: { id: keyOf('Job', id, 'id') },
        });
        if (job === null) throw new NotFoundError(`There is no job ${id}.`, 'id');
        return job;
      },
    }),
    item: t.field({
      type: JobItem,
      nullable: true,
      description: 'One item. NOT_FOUND if there is none (any more).',
      args: { id: t.arg.id({ required: true, description: 'The id of the item.' }) },
      resolve: async (_, { id }, context, info) => {
        const key = itemKeyOf(id, 'id');
        await checkAnswerSize([key], context, info);
        return itemIdOf(key);
      },
    }),
  }),
});
