import { createJob, type NewJob } from '../../domain/create-job.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { builder } from '../builder.ts';
import { keyOf } from '../global-id.ts';
import { JobInput } from '../inputs.ts';
import { checkTypeScope } from '../scope.ts';
import { jobField } from './payload.ts';

const Payload = builder.objectRef<{ jobId: string; created: boolean }>('CreateJobPayload').implement({
  description: 'The tree that was created, or that its dedupe key found.',
  fields: (t) => ({
    job: jobField(t),
    created: t.exposeBoolean('created', {
      description: 'False if a job with the dedupe key existed, and nothing was created.',
    }),
  }),
});

builder.mutationField('createJob', (t) =>
  t.field({
    authScopes: { may: 'create' },
    type: Payload,
    description: 'Creates a whole tree of jobs, with the items that it starts with: all of it, or nothing.',
    args: {
      input: t.arg({ type: JobInput, required: true, description: 'The root, with all that is below it.' }),
    },
    errors: { types: [InvalidInputError, NotFoundError] },
    resolve: (_, { input }, context) => {
      checkTypeScope(context, typesOf(input), 'type');
      return createJob(context.engine, withUploads(input, ''));
    },
  }),
);

/** Of all jobs of the tree. */
function* typesOf({ type, children }: NewJob): Iterable<string> {
  yield type;
  for (const child of children ?? []) yield* typesOf(child);
}

/** With the keys of uploads, where ids were given. */
function withUploads(job: NewJob, path: string): NewJob {
  const { file, children } = job;
  if (file == null && children == null) return job;
  return {
    ...job,
    file: file && { ...file, uploadId: keyOf('Upload', file.uploadId, `${path}file.uploadId`) },
    children: children?.map((child, i) => withUploads(child, `${path}children[${i}].`)),
  };
}
