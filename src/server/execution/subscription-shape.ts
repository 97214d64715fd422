/** Identifies subscriptions that ask for the same, so that they can share an execution. */
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
import { isRevision } from '../../domain/values/checks.ts';
import type { Services } from '../../schema/core/services.ts';

/** How often a variable is used, not counting its declaration. */
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
  /** As sent, without variables that the operation does not declare. */
  readonly variableValues: Record<string, unknown>;
  readonly sinceRevision: string | undefined;
}

/**
 * The key and values by which subscriptions are shared; undefined if the operation can't be shared, or is invalid. The key has the variables as
 * the schema coerces them: with defaults, in order, and only declared ones. It leaves out `sinceRevision`, which only decides on a reader's
 * first event, so that readers which return with different revisions still share. It includes the caller's rights, since other rights may give
 * other answers.
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
  // An execution that others began would never check it.
  if (since != null && !(typeof since === 'string' && isRevision(since))) return undefined;
  return {
    key: hash(JSON.stringify([hashOf(document), operationName ?? null, variables, caller.rights])),
    variableValues: Object.fromEntries(
      Object.entries(variableValues ?? {}).filter(([name]) => Object.hasOwn(coerced, name)),
    ),
    sinceRevision: since ?? undefined,
  };
}

/** Hashes of texts, because documents of one text may differ: long ones, and those evicted from the cache, are parsed anew each time. */
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
