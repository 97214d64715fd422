import { type RetentionChange, setRetention } from '../../domain/retention/retention.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { toSettings } from '../access/audit-subjects.ts';
import { builder } from '../core/builder.ts';
import { keyOf } from '../core/global-id.ts';
import { jobField } from '../core/payload.ts';
import { checkTree } from '../core/scope.ts';

const Payload = builder.objectRef<{ jobId: string }>('SetRetentionPayload').implement({
  description: 'The retention of the tree was changed.',
  fields: (t) => ({ job: jobField(t) }),
});

const Input = builder.inputRef<RetentionChange & { readonly jobId: string }>('SetRetentionInput');
Input.implement({
  description: 'How long a tree is kept. Omitted fields stay as they are.',
  fields: (t) => ({
    jobId: t.id({ required: true, description: 'The root of the tree. INVALID_INPUT for another job.' }),
    retentionSeconds: t.int({
      description:
        'How long it is kept once it is complete, in seconds: 0 to 315,576,000 (ten years); null for ever. For a complete tree it counts from its completion, so the tree may be reaped at once.',
    }),
    idleExpirySeconds: t.int({
      description:
        'The time after which it is cancelled if it is idle, in seconds: 1 to 315,576,000 (ten years); null for never.',
    }),
  }),
});

builder.mutationField('setRetention', (t) =>
  t.field({
    authScopes: { may: 'change' },
    audited: ({ input: { jobId, ...change } }) => [jobId, ...toSettings(change)],
    type: Payload,
    description:
      'Changes how long a tree is kept. NOT_FOUND if it no longer exists, or is already being deleted.',
    args: {
      input: t.arg({ type: Input, required: true, description: 'Which tree, and for how long.' }),
    },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input: { jobId: id, ...change } }, context) => {
      const jobId = keyOf('Job', id, 'jobId');
      await checkTree(context, jobId, 'jobId');
      await setRetention(context.engine, jobId, change);
      return { jobId };
    },
  }),
);
