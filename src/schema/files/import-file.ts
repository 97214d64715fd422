import { importFile } from '../../domain/files/import-file.ts';
import {
  InvalidInputError,
  JobFedByParentError,
  JobSealedError,
  NotFoundError,
  StorageLimitError,
} from '../../errors.ts';
import { toSource } from '../access/audit-subjects.ts';
import { builder } from '../core/builder.ts';
import { keyOf } from '../core/global-id.ts';
import { jobField } from '../core/payload.ts';
import { checkJob } from '../core/scope.ts';
import { checkFiles } from '../jobs/create-job.ts';
import { toNewFile } from '../jobs/new-job.ts';
import { FileInput } from './file-input.ts';
import type { ReceivedFile } from './received-file.ts';

const Payload = builder.objectRef<{ jobId: string }>('ImportFilePayload').implement({
  description: 'The file is being imported: see `import` of the job.',
  fields: (t) => ({ job: jobField(t) }),
});

const Input = builder.inputType('ImportFileInput', {
  description: 'A file for a job that exists.',
  fields: (t) => ({
    jobId: t.id({
      required: true,
      description: 'The job. It must not be sealed, nor have a file already: INVALID_INPUT.',
    }),
    file: t.field({
      type: FileInput,
      required: true,
      description:
        "The file. Its rows are added after the items that the job has; others can be added meanwhile. The end of the file seals the job. A line that can't be read, or that does not match the schema of the type, becomes a failed item.",
    }),
  }),
});

builder.mutationField('importFile', (t) =>
  t.field({
    authScopes: { may: 'change' },
    audited: ({ input }) => [input.jobId, toSource(input.file)],
    type: Payload,
    description: 'Adds the rows of a file to a job that exists; `createJob` does so for a new one.',
    args: { input: t.arg({ type: Input, required: true, description: 'The job and the file.' }) },
    errors: {
      types: [NotFoundError, InvalidInputError, JobSealedError, JobFedByParentError, StorageLimitError],
    },
    resolve: async (_, { input }, context) => {
      const jobId = keyOf('Job', input.jobId, 'jobId');
      await checkJob(context, jobId, 'jobId');
      const files: ReceivedFile[] = [];
      const file = toNewFile(input.file, 'file', files);
      const type = (await context.engine.schemas.typesOfJobs([jobId])).get(jobId);
      if (type === undefined) throw new NotFoundError(`There is no job ${jobId}.`, 'jobId');
      await checkFiles(context, [{ type, file, field: 'file' }]);
      await importFile(context.engine, jobId, file);
      for (const one of files) one.keep();
      return { jobId };
    },
  }),
);
