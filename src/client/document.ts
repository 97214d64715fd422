/** An operation as a text that knows the types of its answer and its variables: codegen.ts makes them. */
import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';

export type Document<R, V> = DocumentTypeDecoration<R, V> & { toString(): string };
