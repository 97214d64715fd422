/** The files that become the items of jobs, as clients give them. */
import type { FileOptions } from '../../domain/files/file-options.ts';
import { builder } from '../core/builder.ts';
import type { ReceivedFile } from './received-file.ts';

export const FileFormat = builder.enumType('FileFormat', {
  description: 'The format of a file.',
  values: {
    CSV: {
      description:
        'Rows: each becomes an object of strings, named by the first row. Both `\\r\\n` and `\\n` end a row, even in one file.',
    },
    NDJSON: { description: 'Lines of JSON: each becomes an item, unchanged.' },
    JSON_ARRAY: { description: 'One JSON array: each of its elements becomes an item, unchanged.' },
    LINES: { description: 'Lines: each becomes a string.' },
  } as const,
});

/** Exactly one of the fields is set. */
interface GivenSource {
  readonly uploadId?: string | null | undefined;
  readonly file?: ReceivedFile | null | undefined;
}

/** A file as clients give it: by the id of an upload, or as a part of the request. */
export interface GivenFile extends FileOptions {
  readonly source: GivenSource;
}

const FileSource = builder.inputRef<GivenSource>('FileSourceInput');
FileSource.implement({
  description: 'Where to find a file.',
  isOneOf: true,
  fields: (t) => ({
    uploadId: t.id({
      description:
        'The id of an upload, from `POST /api/uploads` or `createUpload`; it must be complete. NOT_FOUND if it does not exist.',
    }),
    file: t.field({
      type: 'File',
      description:
        'A part of the request. It is stored as an upload, which is removed again if the job is not created.',
    }),
  }),
});

export const FileInput = builder.inputRef<GivenFile>('FileInput');
FileInput.implement({
  description:
    'A file that becomes the items of a job: servers read it, add its rows in order, and seal the job at its end. It may be compressed with gzip, or with zstd if the Node.js of the servers supports that.',
  fields: (t) => ({
    source: t.field({ type: FileSource, required: true, description: 'Where to find it.' }),
    format: t.field({ type: FileFormat, required: true, description: 'Its format.' }),
    encoding: t.string({
      description:
        'The encoding of its text, by its name in the Encoding Standard, such as `utf-8`, `utf-16le` or `windows-1252`. Default: UTF-8, or UTF-16 if the file starts with a byte order mark for that.',
    }),
    delimiter: t.string({
      description: 'For CSV: the separator between cells, one ASCII character. Default: a comma.',
    }),
    quote: t.string({
      description:
        'For CSV: the character around cells that contain delimiters or line breaks, one ASCII character; within a cell it is doubled. Default: `"`.',
    }),
    header: t.boolean({
      description:
        'For CSV: whether the first row names the columns. With false, each row becomes a list of strings. Default: true.',
    }),
  }),
});
