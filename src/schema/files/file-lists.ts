/** What there is to import, what it would become, and what was imported. */
import { uploadsOf } from '../../domain/access/rights.ts';
import { readImportedJobs } from '../../domain/files/file-imports.ts';
import type { FileOptions } from '../../domain/files/file-options.ts';
import { readUploads } from '../../domain/files/read-uploads.ts';
import { checkName, isId } from '../../domain/values/checks.ts';
import { JsonText } from '../../domain/values/json-text.ts';
import { maxNameLength } from '../../domain/values/limits.ts';
import type { Range } from '../../domain/values/range.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { type FilePreview, previewFile } from '../../files/first-rows.ts';
import { builder } from '../core/builder.ts';
import { keyOf } from '../core/global-id.ts';
import { type ListOrder, pageSize, readPage } from '../core/pages.ts';
import { checkTypeScope, shownTypes } from '../core/scope.ts';
import { Job } from '../jobs/job.ts';
import { toJobs } from '../jobs/job-list.ts';
import { Upload } from './file.ts';
import { FileFormat } from './file-input.ts';

const orderOf = (name: string): ListOrder<{ id: string }, string> => ({
  name,
  keyOf: ({ id }) => id,
  parse: (text) => (isId(text) ? text : undefined),
});
const imports = orderOf('imports');
const uploads = orderOf('uploads');

/** Ids are UUIDs of version 7, so their order is that of creation, and lists begin with the last ones. */
const newestFirst = ({ after, before, backwards, take }: Range<string>): Range<string> => ({
  after: before,
  before: after,
  backwards: !backwards,
  take,
});

builder.queryField('imports', (t) =>
  t.connection(
    {
      authScopes: { may: 'list' },
      type: Job,
      complexity: (args) => ({ multiplier: pageSize(args) }),
      description: 'The jobs that have a file, the newest first: see their `import`.',
      args: {
        type: t.arg.string({ description: 'Only jobs of this type: 1 to 200 characters. Default: any.' }),
      },
      resolve: async (_, args, context, info) => {
        const type = args.type == null ? null : checkName(args.type, 'type', maxNameLength);
        const types = await shownTypes(context, type === null ? null : [type]);
        const read = async (range: Range<string>) =>
          (await readImportedJobs(context.engine.database, types, newestFirst(range))).map((id) => ({ id }));
        return readPage(imports, args, read, (rows) => toJobs(rows, context, info));
      },
    },
    { name: 'ImportConnection', description: 'A page of jobs with files.' },
    { name: 'ImportEdge', description: 'A job with a file in a page.' },
  ),
);

builder.queryField('uploads', (t) =>
  t.connection(
    {
      authScopes: { may: 'create' },
      type: Upload,
      complexity: (args) => ({ multiplier: pageSize(args) }),
      description:
        'The stored files that you may import, complete or not, the newest first: all of your tenant, or your own if your key has a scope.',
      resolve: (_, args, context) =>
        readPage(
          uploads,
          args,
          (range) => readUploads(context.engine.database, uploadsOf(context.caller), newestFirst(range)),
          (rows) => rows,
        ),
    },
    { name: 'UploadConnection', description: 'A page of stored files.' },
    { name: 'UploadEdge', description: 'A stored file in a page.' },
  ),
);

const Row = builder.objectRef<FilePreview['rows'][number]>('FilePreviewRow').implement({
  description: 'A row of a file, which would become an item.',
  fields: (t) => ({
    line: t.exposeInt('line', { description: 'The line on which it begins, from 1.' }),
    payload: t.field({
      type: 'JSON',
      nullable: true,
      description:
        "The payload of the item. Of a line that can't be read: its `line`, and its first 1,000 characters as `text`.",
      resolve: ({ payload }) => new JsonText(payload),
    }),
    problem: t.exposeString('problem', {
      nullable: true,
      description:
        "Why the item would fail at once: the line can't be read, or the payload does not match the schema of the type.",
    }),
  }),
});

const Preview = builder.objectRef<FilePreview>('FilePreview').implement({
  description: 'What a file would become, as it was read: as the arguments say, and else as was guessed.',
  fields: (t) => ({
    format: t.expose('format', { type: FileFormat, description: 'The format.' }),
    delimiter: t.string({
      nullable: true,
      description: 'For CSV: the character between cells. Null for a comma.',
      resolve: ({ delimiter }) => delimiter ?? null,
    }),
    encoding: t.string({
      nullable: true,
      description:
        'The encoding. Null for UTF-8, or UTF-16 with a byte order mark. Text that is neither is taken for `windows-1252`.',
      resolve: ({ encoding }) => encoding ?? null,
    }),
    rows: t.field({
      type: [Row],
      description: 'Its first rows, up to 20, as far as these are within the first megabyte of its text.',
      resolve: ({ rows }) => [...rows],
    }),
    problem: t.exposeString('problem', {
      nullable: true,
      description: "Why its beginning can't be read; there are no rows then.",
    }),
  }),
});

builder.queryField('filePreview', (t) =>
  t.field({
    authScopes: { may: 'create' },
    type: Preview,
    complexity: { field: 100 },
    description:
      'How a stored file would be read, for a person who is about to import it: the options that are not given are guessed from its beginning. NOT_FOUND if there is no such upload, INVALID_INPUT if it is not complete.',
    args: {
      uploadId: t.arg.id({ required: true, description: 'The upload.' }),
      type: t.arg.string({
        description:
          'The type whose schema the rows are to match: 1 to 200 characters. Default: no schema is checked.',
      }),
      format: t.arg({ type: FileFormat, description: 'The format. Default: a guess.' }),
      encoding: t.arg.string({ description: 'The encoding, as in `FileInput`. Default: a guess.' }),
      delimiter: t.arg.string({ description: 'For CSV: the character between cells. Default: a guess.' }),
      quote: t.arg.string({ description: 'For CSV: the character around cells. Default: `"`.' }),
      header: t.arg.boolean({
        description: 'For CSV: whether the first row names the columns. Default: true.',
      }),
    },
    resolve: async (_, { uploadId, type, ...options }, context) => {
      const checked = type == null ? null : checkName(type, 'type', maxNameLength);
      if (checked !== null) checkTypeScope(context, [checked], 'type');
      const upload = await context.uploads.find(
        keyOf('Upload', uploadId, 'uploadId'),
        uploadsOf(context.caller),
      );
      if (upload === undefined) throw new NotFoundError(`There is no upload ${uploadId}.`, 'uploadId');
      if (upload.sha256 === null)
        throw new InvalidInputError(`Upload ${uploadId} is not complete.`, 'uploadId');
      return previewFile(context.engine, context.uploads, upload, options as Partial<FileOptions>, checked);
    },
  }),
);
