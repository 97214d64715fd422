import { deleteJob } from '../../domain/retention/delete-job.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { keyOf } from '../core/global-id.ts';
import { jobInput } from '../core/payload.ts';
import { checkTree } from '../core/scope.ts';

const Payload = builder.objectRef<{ globalId: string; deleted: boolean }>('DeleteJobPayload').implement({
  description: 'The tree is deleted, or is being deleted.',
  fields: (t) => ({
    deletedJobId: t.exposeID('globalId', { description: 'The root that was given.' }),
    deleted: t.exposeBoolean('deleted', {
      description:
        'Whether the tree is deleted completely. False while the server is still deleting: a large tree is deleted in the background, and `deletion` of its jobs shows the progress.',
    }),
  }),
});

builder.mutationField('deleteJob', (t) =>
  t.field({
    authScopes: { may: 'change' },
    audited: ({ input }) => [input.jobId],
    type: Payload,
    description:
      'Deletes a whole tree: its jobs, items, results and failures. Pending work is cancelled first.',
    args: {
      input: t.arg({
        type: jobInput('DeleteJobInput', 'The root of the tree to delete.'),
        required: true,
        description: 'The root of the tree to delete.',
      }),
    },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input }, context) => {
      const jobId = keyOf('Job', input.jobId, 'jobId');
      await checkTree(context, jobId, 'jobId');
      const { deleted } = await deleteJob(context.engine, jobId);
      return { globalId: input.jobId, deleted };
    },
  }),
);
