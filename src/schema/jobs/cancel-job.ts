import { cancelJob } from '../../domain/jobs/cancel-job.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { keyOf } from '../core/global-id.ts';
import { jobField, jobInput } from '../core/payload.ts';
import { checkTree } from '../core/scope.ts';

const Payload = builder.objectRef<{ jobId: string }>('CancelJobPayload').implement({
  description: 'The job and all jobs below it are cancelled.',
  fields: (t) => ({ job: jobField(t) }),
});

builder.mutationField('cancelJob', (t) =>
  t.field({
    authScopes: { may: 'change' },
    audited: ({ input }) => [input.jobId],
    type: Payload,
    description:
      'Cancels a job and all jobs below it: they accept no more items, waiting and scheduled items are cancelled, and so are held ones (workers learn of it from their next heartbeat or report). Finished items remain. It answers once no worker can get any of the items; for a large job the rest is done in the background, and the progress shows it. Cancelling twice changes nothing.',
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
