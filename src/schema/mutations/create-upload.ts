import type { Upload as StoredUpload } from '../../domain/uploads.ts';
import { InvalidInputError } from '../../errors.ts';
import { builder } from '../builder.ts';
import { Upload } from '../file.ts';

const Payload = builder.objectRef<{ upload: StoredUpload }>('CreateUploadPayload').implement({
  description: 'The file is stored.',
  fields: (t) => ({
    upload: t.expose('upload', { type: Upload, description: 'What is known of it.' }),
  }),
});

const Input = builder.inputType('CreateUploadInput', {
  description: 'A file to be stored.',
  fields: (t) => ({
    file: t.field({ type: 'File', required: true, description: 'The file.' }),
  }),
});

builder.mutationField('createUpload', (t) =>
  t.field({
    authScopes: { may: 'create' },
    type: Payload,
    description:
      'Stores a file that comes as a part of the request, for the jobs that are made of it. For files that are large, or connections that break, `/api/uploads` takes up what broke off.',
    args: { input: t.arg({ type: Input, required: true, description: 'The file.' }) },
    errors: { types: [InvalidInputError] },
    resolve: (_, { input }) => ({ upload: input.file.keep() }),
  }),
);
