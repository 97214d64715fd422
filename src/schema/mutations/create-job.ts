import { createJob, type NewJob } from '../../domain/create-job.ts';
import type { NewFile } from '../../domain/file-imports.ts';
import { findStrangeUpload } from '../../domain/uploads.ts';
import { InvalidInputError, NotFoundError, StorageLimitError } from '../../errors.ts';
import { builder } from '../builder.ts';
import { keyOf } from '../global-id.ts';
import { type GivenFile, type GivenJob, JobInput } from '../inputs.ts';
import type { ReceivedFile } from '../received-file.ts';
import { checkTypeScope } from '../scope.ts';
import type { Services } from '../services.ts';
import { jobField } from './payload.ts';

const Payload = builder.objectRef<{ jobId: string; created: boolean }>('CreateJobPayload').implement({
  description: 'The tree that was created, or the existing one with its dedupe key.',
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
    description: 'Creates a whole tree of jobs, with their initial items: either all of it, or nothing.',
    args: {
      input: t.arg({ type: JobInput, required: true, description: 'The root, with all jobs below it.' }),
    },
    errors: { types: [InvalidInputError, NotFoundError, StorageLimitError] },
    resolve: async (_, { input }, context) => {
      checkTypeScope(context, typesOf(input), 'type');
      const files: ReceivedFile[] = [];
      const job = withUploads(input, '', files);
      await checkUploads(context, job);
      const created = await createJob(context.engine, job);
      if (created.created) for (const file of files) file.keep();
      return created;
    },
  }),
);

/** Of all jobs of the tree. */
function* typesOf({ type, children }: GivenJob): Iterable<string> {
  yield type;
  for (const child of children ?? []) yield* typesOf(child);
}

/** Which tenant an upload belongs to never changes. @throws NotFoundError as for one that there is not */
async function checkUploads({ caller, engine }: Services, tree: NewJob): Promise<void> {
  if (caller.tenant === null) return;
  const strange = await findStrangeUpload(engine.database, caller.tenant, [...uploadsOf(tree)]);
  if (strange !== undefined) throw new NotFoundError(`There is no upload ${strange}.`, 'file.uploadId');
}

function* uploadsOf({ file, children }: NewJob): Iterable<string> {
  if (file?.uploadId != null) yield file.uploadId;
  for (const child of children ?? []) yield* uploadsOf(child);
}

/** With the keys of uploads, where ids or files were given; these are added to `files`. */
function withUploads(job: GivenJob, path: string, files: ReceivedFile[]): NewJob {
  const { file, children } = job;
  if (file == null && children == null) return job;
  return {
    ...job,
    file: file && withUpload(file, `${path}file`, files),
    children: children?.map((child, i) => withUploads(child, `${path}children[${i}].`, files)),
  };
}

function withUpload({ file, ...given }: GivenFile, path: string, files: ReceivedFile[]): NewFile {
  if (file != null) {
    if (given.uploadId != null)
      throw new InvalidInputError(`${path} can't have both uploadId and file.`, path);
    files.push(file);
    return { ...given, uploadId: file.upload.id };
  }
  if (given.uploadId == null) throw new InvalidInputError(`${path} must have uploadId or file.`, path);
  return { ...given, uploadId: keyOf('Upload', given.uploadId, `${path}.uploadId`) };
}
