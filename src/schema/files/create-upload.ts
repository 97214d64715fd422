import type { Upload as StoredUpload } from '../../domain/files/read-uploads.ts';
import { InvalidInputError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { Upload } from './file.ts';

const Payload = builder.objectRef<{ upload: StoredUpload }>('CreateUploadPayload').implement({
  description: 'The file was stored.',
  fields: (t) => ({
    upload: t.expose('upload', { type: Upload, description: 'The upload.' }),
  }),
});

const Input = builder.inputType('CreateUploadInput', {
  description: 'A file to store.',
  fields: (t) => ({
    file: t.field({ type: 'File', required: true, description: 'The file.' }),
  }),
});

builder.mutationField('createUpload', (t) =>
  t.field({
    authScopes: { may: 'create' },
    type: Payload,
    description:
      'Stores a file that is part of the request, for jobs that import it. For large files and unreliable connections, use `/api/uploads`, which can resume.',
    args: { input: t.arg({ type: Input, required: true, description: 'The file.' }) },
    errors: { types: [InvalidInputError] },
    resolve: (_, { input }) => ({ upload: input.file.keep() }),
  }),
);
