/** Files in the graph: those sent with an operation, and stored ones. */
import { GraphQLError } from 'graphql';
import { readImportedUploads } from '../../domain/files/file-imports.ts';
import type { Upload as StoredUpload } from '../../domain/files/read-uploads.ts';
import { builder } from '../core/builder.ts';
import { encodeGlobalId } from '../core/global-id.ts';
import { createLoader } from '../core/loader.ts';
import { ReceivedFile } from './received-file.ts';

builder.scalarType('File', {
  specifiedByURL: 'https://github.com/jaydenseric/graphql-multipart-request-spec',
  description:
    'A file that is part of the request, according to the GraphQL multipart request specification: only as a variable, which is null in the request and named by `map`. Such a request needs the header `Apollo-Require-Preflight`.',
  serialize: () => {
    throw new GraphQLError('A File is only sent, never answered.');
  },
  parseValue: (value) => {
    if (value instanceof ReceivedFile) return value;
    throw new GraphQLError('A File is a part of a multipart request, to which map leads.');
  },
  parseLiteral: () => {
    throw new GraphQLError('A File is given as a variable.');
  },
});

const imported = createLoader(async (ids: readonly string[], { engine }) => {
  const found = await readImportedUploads(engine.database, ids);
  return ids.map((id) => found.has(id));
});

export const Upload = builder.objectRef<StoredUpload>('Upload').implement({
  description:
    'A stored file. It is kept for a day (a setting of the server), and until its imports have ended.',
  fields: (t) => ({
    id: t.id({
      description: 'For `file.source.uploadId` of a new job, and `GET /api/uploads/:id`.',
      resolve: ({ id }) => encodeGlobalId('Upload', id),
    }),
    name: t.exposeString('name', {
      nullable: true,
      description:
        'The name of the file, as its sender gave it: any text of up to 255 characters; longer ones are cut. Null if it gave none.',
    }),
    size: t.expose('size', {
      type: 'Count',
      description: 'How much of it is stored, in bytes: all of it once it is complete.',
    }),
    length: t.expose('length', {
      type: 'Count',
      nullable: true,
      description: 'Its size when complete, in bytes; null while its sender has not said it.',
    }),
    complete: t.boolean({
      description: 'Whether all of it has arrived, so that it can be imported.',
      resolve: ({ sha256 }) => sha256 !== null,
    }),
    imported: t.boolean({
      description: 'Whether a job that still exists has it as its file. It can be imported more than once.',
      resolve: ({ id }, _, context) => imported(context).load(id),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When its sender began.' }),
    sha256: t.string({
      description: 'Its SHA-256, in hexadecimal; empty until it is complete.',
      resolve: ({ sha256 }) => sha256?.toString('hex') ?? '',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      description: 'When it is removed, unless an import still needs it.',
    }),
  }),
});
