import { isUnscoped, uploadsOf } from '../../domain/access/rights.ts';
import type { NewFile } from '../../domain/files/file-options.ts';
import { findForeignUpload } from '../../domain/files/read-uploads.ts';
import { createJob, type NewJob } from '../../domain/jobs/create-job.ts';
import { InvalidInputError, NotFoundError, StorageLimitError } from '../../errors.ts';
import { checkFirstRows } from '../../files/first-rows.ts';
import { toImports } from '../access/audit-subjects.ts';
import { builder } from '../core/builder.ts';
import { jobField } from '../core/payload.ts';
import { checkTypeScope } from '../core/scope.ts';
import type { Services } from '../core/services.ts';
import type { ReceivedFile } from '../files/received-file.ts';
import { type GivenJob, JobInput } from './inputs.ts';
import { toNewJob } from './new-job.ts';

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
    audited: ({ input }) => {
      const imports = [...toImports(input)];
      return imports.length === 0 ? undefined : imports;
    },
    type: Payload,
    description: 'Creates a whole tree of jobs, with their initial items: either all of it, or nothing.',
    args: {
      input: t.arg({ type: JobInput, required: true, description: 'The root, with all jobs below it.' }),
    },
    errors: { types: [InvalidInputError, NotFoundError, StorageLimitError] },
    resolve: async (_, { input }, context) => {
      const files: ReceivedFile[] = [];
      const job = await takeJob(input, context, files);
      const created = await createJob(context.engine, job);
      if (created.created) for (const file of files) file.keep();
      return created;
    },
  }),
);

/**
 * The tree as the domain has it, if the caller may create it. Adds files sent with the request to `files`.
 *
 * @throws ForbiddenError, NotFoundError, InvalidInputError
 */
export async function takeJob(input: GivenJob, context: Services, files: ReceivedFile[]): Promise<NewJob> {
  checkTypeScope(context, typesOf(input), 'type');
  const job = toNewJob(input, '', files);
  const looked = [...filesOf(job, '')];
  if (looked.length > 0) await checkFiles(context, looked);
  return job;
}

/** Of the files of a tree, those whose first rows are looked at: as many as one request can have. */
const mostLookedAt = 10;

/** The types of all jobs of the tree. */
function* typesOf({ type, children }: GivenJob): Iterable<string> {
  yield type;
  for (const child of children ?? []) yield* typesOf(child);
}

interface JobFile {
  readonly type: string;
  readonly file: NewFile;
  readonly field: string;
}

/**
 * Checks that the caller may use the uploads, whose senders never change, and looks at the first rows.
 *
 * @throws NotFoundError as for an upload that does not exist
 */
export async function checkFiles(context: Services, files: readonly JobFile[]): Promise<void> {
  const { caller, engine, uploads } = context;
  if (!isUnscoped(caller)) {
    const ids = files.map(({ file }) => file.source.uploadId);
    const foreign = await findForeignUpload(engine.database, uploadsOf(caller), ids);
    if (foreign !== undefined)
      throw new NotFoundError(`There is no upload ${foreign}.`, 'file.source.uploadId');
  }
  for (const file of files.slice(0, mostLookedAt)) await checkFirstRows(engine, uploads, file);
}

function* filesOf({ type, file, children }: NewJob, path: string): Iterable<JobFile> {
  if (file != null) yield { type, file, field: `${path}file` };
  for (const [i, child] of (children ?? []).entries()) yield* filesOf(child, `${path}children[${i}].`);
}
