import { fileErrorCodes } from '../../domain/files/file-errors.ts';
import {
  type FileImport as FileImportState,
  fileImportStatus,
  readFileImports,
} from '../../domain/files/file-imports.ts';
import { builder } from '../core/builder.ts';
import { encodeGlobalId } from '../core/global-id.ts';
import { createLoader } from '../core/loader.ts';
import { FileFormat } from './file-input.ts';

export const fileImports = createLoader(async (jobIds: readonly string[], { engine }) => {
  const found = await readFileImports(engine.database, jobIds);
  const byJob = new Map(found.map((state) => [state.jobId, state]));
  return jobIds.map((id) => byJob.get(id) ?? null);
});

const FileImportStatus = builder.enumType('FileImportStatus', {
  description: 'The status of the import of a file.',
  values: {
    WAITING: {
      description:
        'No server has started to read it; or its object store is down, as `error` says, and the server tries again.',
    },
    RUNNING: { description: 'It is being read.' },
    COMPLETED: { description: 'The whole file was read, and the job is sealed.' },
    FAILED: {
      description:
        'It could not be read to its end. The job has failed: finished items remain, and pending ones were cancelled.',
    },
    CANCELLED: { description: 'The job was sealed or cancelled before the whole file was read.' },
  } as const,
});

const FileErrorCode = builder.enumType('FileErrorCode', {
  description: 'Why a file is not being read, or was not read to its end.',
  values: Object.fromEntries(
    Object.entries(fileErrorCodes).map(([code, description]) => [code, { description }]),
  ) as { [Code in keyof typeof fileErrorCodes]: { description: string } },
});

const FileError = builder
  .objectRef<{ code: keyof typeof fileErrorCodes; message: string }>('FileError')
  .implement({
    description: 'Why a file is not being read, or was not read to its end.',
    fields: (t) => ({
      code: t.expose('code', { type: FileErrorCode, description: 'For programs.' }),
      message: t.exposeString('message', { description: 'For people; it names the line where that helps.' }),
    }),
  });

export const FileImport = builder.objectRef<FileImportState>('FileImport').implement({
  description:
    'The progress of the import of a file. It changes together with the progress of its job, which subscriptions report.',
  fields: (t) => ({
    status: t.field({ type: FileImportStatus, description: 'Its status.', resolve: fileImportStatus }),
    uploadId: t.id({
      description: 'The upload. It may no longer exist after the import.',
      resolve: ({ uploadId }) => encodeGlobalId('Upload', uploadId),
    }),
    name: t.exposeString('name', {
      nullable: true,
      description:
        'The name of the file, as its sender gave it. Null if it gave none, or once the upload no longer exists.',
    }),
    format: t.expose('format', { type: FileFormat, description: 'The format of the file.' }),
    size: t.expose('size', { type: 'Count', description: 'The size of the upload, in bytes.' }),
    bytesRead: t.expose('bytesRead', {
      type: 'Count',
      description: 'How much of it has been read, in bytes.',
    }),
    items: t.expose('items', {
      type: 'Count',
      description: 'How many items it has created so far, including bad lines.',
    }),
    badLines: t.expose('badLines', {
      type: 'Count',
      description:
        'How many lines could not be read, or do not match the schema of the type: they are failed items with the code BAD_LINE or INVALID_PAYLOAD.',
    }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When a server first started to read it.',
    }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it ended.',
    }),
    error: t.field({
      type: FileError,
      nullable: true,
      description:
        'Why it ended before the end of the file or, while it is WAITING, what it waits for; otherwise null.',
      resolve: ({ errorCode: code, errorMessage }) =>
        code === null ? null : { code, message: errorMessage ?? '' },
    }),
  }),
});
