import { cancelJob } from '../../domain/cancel-job.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { builder } from '../builder.ts';
import { keyOf } from '../global-id.ts';
import { checkTree } from '../scope.ts';
import { jobField, jobInput } from './payload.ts';

const Payload = builder.objectRef<{ jobId: string }>('CancelJobPayload').implement({
  description: 'The job and all below it are cancelled.',
  fields: (t) => ({ job: jobField(t) }),
});

builder.mutationField('cancelJob', (t) =>
  t.field({
    authScopes: { may: 'change' },
    audited: ({ input }) => [input.jobId],
    type: Payload,
    description:
      'Cancels a job and all below it: they take no more items, what waits or is scheduled is dropped, and what workers hold ends (they learn it from their next heartbeat or report). What is done stays. Answers once no worker can get any of it; of a large job the rest goes on in the server, and the progress shows how far that is. Cancelling twice changes nothing.',
    args: {
      input: t.arg({
        type: jobInput('CancelJobInput', 'Which job to cancel.'),
        required: true,
        description: 'Which job to cancel.',
      }),
    },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input }, context) => {
      const jobId = keyOf('Job', input.jobId, 'jobId');
      await checkTree(context, jobId, 'jobId');
      await cancelJob(context.engine, jobId);
      return { jobId };
    },
  }),
);
