/** What tells one subscription from others, so that those which ask for the same can share. */
import { createHash } from 'node:crypto';
import {
  type DocumentNode,
  type ExecutionArgs,
  getOperationAST,
  getVariableValues,
  Kind,
  print,
  visit,
} from 'graphql';
import { isRevision } from '../domain/checks.ts';
import type { Services } from '../schema/services.ts';

/** How often a variable is used, beside being declared. */
function usesOf(document: DocumentNode, variable: string): number {
  let uses = -1;
  visit(document, {
    Variable: ({ name }) => {
      if (name.value === variable) uses++;
    },
  });
  return uses;
}

export interface Shape {
  readonly key: string;
  /** As they came, without those that the operation does not declare. */
  readonly variableValues: Record<string, unknown>;
  readonly sinceRevision: string | undefined;
}

/**
 * What tells an operation on a document from others. Variables count as the schema reads them: with their defaults, in their
 * order, and none that are not declared. `sinceRevision` only decides on a reader's first event: it stays out, so that readers
 * that come back with different ones still share. Callers with other rights may get other answers, so theirs is another one. Undefined if the operation can't be shared, or is invalid.
 */
export function shapeOf({
  schema,
  document,
  operationName,
  variableValues,
  contextValue,
}: ExecutionArgs): Shape | undefined {
  const { caller } = contextValue as Services;
  const operation = getOperationAST(document, operationName);
  const [field, ...others] = operation?.selectionSet.selections ?? [];
  if (operation == null || field?.kind !== Kind.FIELD || others.length > 0) return undefined;
  const definition = schema.getSubscriptionType()?.getFields()[field.name.value];
  if (definition?.extensions.shared !== true || field.directives?.length !== 0) return undefined;
  const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], variableValues ?? {});
  if (coerced === undefined) return undefined;
  const variables = { ...coerced };
  const value = field.arguments?.find(({ name }) => name.value === 'sinceRevision')?.value;
  let since: unknown = value?.kind === Kind.STRING ? value.value : undefined;
  if (value?.kind === Kind.VARIABLE) {
    since = variables[value.name.value];
    if (usesOf(document, value.name.value) === 1) delete variables[value.name.value];
  }
  // It would never be looked at in an execution that others began.
  if (since != null && !(typeof since === 'string' && isRevision(since))) return undefined;
  return {
    key: hash(JSON.stringify([hashOf(document), operationName ?? null, variables, caller.rights])),
    variableValues: Object.fromEntries(
      Object.entries(variableValues ?? {}).filter(([name]) => Object.hasOwn(coerced, name)),
    ),
    sinceRevision: since ?? undefined,
  };
}

/** Documents of the same text: long ones, and those of which there are many, are parsed again each time. */
const hashes = new WeakMap<DocumentNode, string>();

function hashOf(document: DocumentNode): string {
  let known = hashes.get(document);
  if (known === undefined) {
    known = hash(document.loc?.source.body ?? print(document));
    hashes.set(document, known);
  }
  return known;
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}
