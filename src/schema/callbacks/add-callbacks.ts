import { addCallbacks } from '../../domain/callbacks/add-callbacks.ts';
import { checkBatch } from '../../domain/values/checks.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { keyOf } from '../core/global-id.ts';
import { jobField } from '../core/payload.ts';
import { checkTree } from '../core/scope.ts';
import { CallbackInput } from '../jobs/inputs.ts';

const Payload = builder.objectRef<{ jobId: string }>('AddCallbacksPayload').implement({
  description: 'The callbacks were added; those that the tree had already count once.',
  fields: (t) => ({ job: jobField(t) }),
});

const Input = builder.inputType('AddCallbacksInput', {
  description: 'Which endpoints to call about a tree.',
  fields: (t) => ({
    jobId: t.id({
      required: true,
      description:
        'The root of the tree. INVALID_INPUT for another job, and for a tree that is complete, since nothing would be sent.',
    }),
    callbacks: t.field({
      type: [CallbackInput],
      required: true,
      description:
        'The endpoints to call, beside those that the tree has: 1 to 10. INVALID_INPUT if the tree would have more than 10. For jobs that are complete already, nothing is sent.',
    }),
  }),
});

builder.mutationField('addCallbacks', (t) =>
  t.field({
    authScopes: { may: 'change' },
    audited: ({ input: { jobId, callbacks } }) => [
      jobId,
      ...callbacks.map(({ endpoint }) => `endpoint ${endpoint}`),
    ],
    type: Payload,
    description: 'Adds endpoints to call when a tree that exists, or each of its jobs, is complete.',
    args: { input: t.arg({ type: Input, required: true, description: 'Which tree, and which endpoints.' }) },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input }, context) => {
      const jobId = keyOf('Job', input.jobId, 'jobId');
      await checkTree(context, jobId, 'jobId');
      checkBatch(input.callbacks.length, 'callbacks');
      await addCallbacks(context.engine, jobId, input.callbacks);
      return { jobId };
    },
  }),
);
