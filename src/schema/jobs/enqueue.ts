import { enqueue } from '../../domain/jobs/enqueue.ts';
import { InvalidInputError, StorageLimitError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { jobField } from '../core/payload.ts';
import { checkTypeScope } from '../core/scope.ts';
import { EnqueueInput } from './inputs.ts';

const Payload = builder.objectRef<{ jobId: string; created: boolean }>('EnqueuePayload').implement({
  description: 'The work that was enqueued, or the existing work with its dedupe key.',
  fields: (t) => ({
    job: jobField(t),
    created: t.exposeBoolean('created', {
      description: 'False if a job with the dedupe key existed, and nothing was created.',
    }),
  }),
});

builder.mutationField('enqueue', (t) =>
  t.field({
    authScopes: { may: 'create' },
    type: Payload,
    description:
      'Enqueues one piece of work: creates a sealed job with a single item. For many items, create one job with `createJob`, which costs less.',
    args: {
      input: t.arg({ type: EnqueueInput, required: true, description: 'The work, and how to treat it.' }),
    },
    errors: { types: [InvalidInputError, StorageLimitError] },
    resolve: (_, { input }, context) => {
      checkTypeScope(context, [input.type], 'type');
      return enqueue(context.engine, input);
    },
  }),
);
