import {
  type FileImport as FileImportState,
  fileErrorCodes,
  fileImportStatus,
  readFileImports,
} from '../domain/file-imports.ts';
import { builder } from './builder.ts';
import { encodeGlobalId } from './global-id.ts';
import { FileFormat } from './inputs.ts';
import { createLoader } from './loader.ts';

export const fileImports = createLoader(async (jobIds: readonly string[], { engine }) => {
  const found = await readFileImports(engine.database, jobIds);
  const byJob = new Map(found.map((state) => [state.jobId, state]));
  return jobIds.map((id) => byJob.get(id) ?? null);
});

const FileImportStatus = builder.enumType('FileImportStatus', {
  description: 'Where the import of a file stands.',
  values: {
    WAITING: {
      description:
        'No server has begun to read it; or its object store is away, as `error` says, and it is tried again.',
    },
    RUNNING: { description: 'It is being read.' },
    COMPLETED: { description: 'All of it was read, and the job is sealed.' },
    FAILED: {
      description:
        'It could not be read to its end. The job has failed: what is done stays, and what was pending was cancelled.',
    },
    CANCELLED: { description: 'The job was sealed or cancelled before all of it was read.' },
  } as const,
});

const FileErrorCode = builder.enumType('FileErrorCode', {
  description: 'Why a file is not read, or was not read to its end.',
  values: Object.fromEntries(
    Object.entries(fileErrorCodes).map(([code, description]) => [code, { description }]),
  ) as { [Code in keyof typeof fileErrorCodes]: { description: string } },
});

const FileError = builder
  .objectRef<{ code: keyof typeof fileErrorCodes; message: string }>('FileError')
  .implement({
    description: 'Why a file is not read, or was not read to its end.',
    fields: (t) => ({
      code: t.expose('code', { type: FileErrorCode, description: 'For programs.' }),
      message: t.exposeString('message', { description: 'For people; it names the line where that helps.' }),
    }),
  });

export const FileImport = builder.objectRef<FileImportState>('FileImport').implement({
  description:
    'How far the import of a file is. It changes with the progress of its job, of which subscriptions tell.',
  fields: (t) => ({
    status: t.field({ type: FileImportStatus, description: 'Where it stands.', resolve: fileImportStatus }),
    uploadId: t.id({
      description: 'The upload. It may be gone once the import is over.',
      resolve: ({ uploadId }) => encodeGlobalId('Upload', uploadId),
    }),
    format: t.expose('format', { type: FileFormat, description: 'What the file is made of.' }),
    size: t.expose('size', { type: 'Count', description: 'How large the upload is, in bytes.' }),
    bytesRead: t.expose('bytesRead', { type: 'Count', description: 'How much of it is read, in bytes.' }),
    items: t.expose('items', {
      type: 'Count',
      description: 'How many items it has made so far, bad lines among them.',
    }),
    badLines: t.expose('badLines', {
      type: 'Count',
      description:
        'How many lines could not be read, or break the schema of the type: they are failed items with the code BAD_LINE or INVALID_PAYLOAD.',
    }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When a server first began to read it.',
    }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was over.',
    }),
    error: t.field({
      type: FileError,
      nullable: true,
      description:
        'Why it ended before the end of the file, or, while it is WAITING, what it waits for; null if neither is so.',
      resolve: ({ errorCode: code, errorMessage }) =>
        code === null ? null : { code, message: errorMessage ?? '' },
    }),
  }),
});
