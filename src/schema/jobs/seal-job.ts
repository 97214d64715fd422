import { sealJob } from '../../domain/jobs/seal-job.ts';
import { InvalidInputError, JobFedByParentError, NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { keyOf } from '../core/global-id.ts';
import { jobField, jobInput } from '../core/payload.ts';
import { checkJob } from '../core/scope.ts';

const Payload = builder.objectRef<{ jobId: string }>('SealJobPayload').implement({
  description: 'The job is sealed.',
  fields: (t) => ({ job: jobField(t) }),
});

builder.mutationField('sealJob', (t) =>
  t.field({
    authScopes: { may: 'change' },
    type: Payload,
    description:
      'Declares that a job gets no more items, so that it can complete: at once if nothing is pending. Sealing a sealed job changes nothing.',
    args: {
      input: t.arg({
        type: jobInput('SealJobInput', 'Which job to seal.'),
        required: true,
        description: 'Which job to seal.',
      }),
    },
    errors: { types: [NotFoundError, InvalidInputError, JobFedByParentError] },
    resolve: async (_, { input }, context) => {
      const jobId = keyOf('Job', input.jobId, 'jobId');
      await checkJob(context, jobId, 'jobId');
      await sealJob(context.engine, jobId);
      return { jobId };
    },
  }),
);
