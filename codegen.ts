/**
 * Types for the operations of the client, from `schema.graphql`. They are written as graphql(`…`) beside the code that
 * sends them, and go over the wire as those very strings: nothing of graphql-js is needed at run time.
 */
import type { CodegenConfig } from '@graphql-codegen/cli';

const config: CodegenConfig = {
  schema: './schema.graphql',
  documents: ['src/client/operations.ts'],
  generates: {
    './src/generated/graphql/': {
      preset: 'client',
      presetConfig: { fragmentMasking: false },
      config: {
        documentMode: 'string',
        importExtension: '.ts',
        useTypeImports: true,
        enumsAsTypes: true,
        onlyOperationTypes: true,
        skipTypename: true,
        strictScalars: true,
        scalars: { Count: 'number', DateTime: 'string', File: 'never', JSON: 'unknown' },
      },
    },
  },
};

export default config;
