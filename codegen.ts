/**
 * Types for the operations of the client and of the dashboard, from `schema.graphql`, and their texts: they go over the wire as those very
 * strings, so nothing of graphql-js is needed at run time. Each is a constant of its own that a bundler leaves out where it is not used.
 */
import type { CodegenConfig } from '@graphql-codegen/cli';

const plugins = ['typescript', 'typescript-operations', 'typed-document-node'];

const config: CodegenConfig = {
  schema: './schema.graphql',
  config: {
    documentMode: 'string',
    documentVariableSuffix: '',
    fragmentVariableSuffix: '',
    pureMagicComment: true,
    inputMaybeValue: 'T | null | undefined',
    useTypeImports: true,
    enumsAsTypes: true,
    onlyOperationTypes: true,
    skipTypename: true,
    strictScalars: true,
    scalars: { Count: 'number', DateTime: 'string', File: 'never', JSON: 'unknown' },
  },
  generates: {
    './src/generated/operations.ts': { documents: ['src/client/operations.graphql'], plugins },
    './src/generated/dashboard-first.ts': { documents: ['src/dashboard/operations/first.graphql'], plugins },
    './src/generated/dashboard.ts': { documents: ['src/dashboard/operations/*.graphql'], plugins },
  },
};

export default config;
