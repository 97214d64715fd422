import { deleteJob } from '../../domain/delete-job.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { builder } from '../builder.ts';
import { keyOf } from '../global-id.ts';
import { jobInput } from './payload.ts';

const Payload = builder.objectRef<{ globalId: string }>('DeleteJobPayload').implement({
  description: 'The tree is gone.',
  fields: (t) => ({ jobId: t.exposeID('globalId', { description: 'The root that was deleted.' }) }),
});

builder.mutationField('deleteJob', (t) =>
  t.field({
    type: Payload,
    description:
      'Deletes a whole tree at once: its jobs, items, results and failures. What is still at work is cancelled first.',
    args: {
      input: t.arg({
        type: jobInput('DeleteJobInput', 'The root of the tree to delete.'),
        required: true,
        description: 'The root of the tree to delete.',
      }),
    },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input }, { engine }) => {
      await deleteJob(engine, keyOf('Job', input.jobId, 'jobId'));
      return { globalId: input.jobId };
    },
  }),
);
