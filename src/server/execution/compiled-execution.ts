/**
 * Executes operations. Those that come again and again (what workers and producers send, and the events of subscriptions) are compiled, which
 * makes their execution about three times as fast. The reference implementation runs everything else, and whatever the compiler can't do or
 * judges differently.
 */
import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLNamedInputType,
  type GraphQLSchema,
  getNamedType,
  getOperationAST,
  isInputObjectType,
  isInputType,
  typeFromAST,
} from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import { tooDeep } from '../../schema/core/scalars.ts';
import { type Complete, completeOf } from './complete-variables.ts';
import { mergesConditions } from './merged-conditions.ts';
import { type DelicateVariable, delicateVariables } from './variable-uses.ts';

export type Execute = (args: ExecutionArgs) => ReturnType<typeof execute>;

/** How often a document is executed before compiling it, which takes milliseconds, pays. */
const usesBeforeCompiling = 20;

interface Compiled {
  readonly query: CompiledQuery['query'];
  /** The variables that the compiler can't do without a value. */
  readonly delicate: readonly DelicateVariable[];
  /** The variables that need completing, by name. */
  readonly completes: readonly (readonly [string, Complete])[];
}

interface Use {
  count: number;
  /** By operation name; null if the operation can't be compiled. */
  readonly compiled: Map<string | null | undefined, Compiled | null>;
}

export function createExecute({ compileAfter = usesBeforeCompiling } = {}): Execute {
  // Entries live as long as the document stays in the bounded cache of documents.
  const uses = new WeakMap<DocumentNode, Use>();

  function compiledFor({ schema, document, operationName }: ExecutionArgs): Compiled | null {
    let use = uses.get(document);
    if (use === undefined) {
      use = { count: 0, compiled: new Map() };
      uses.set(document, use);
    }
    if (use.count++ < compileAfter) return null;
    let compiled = use.compiled.get(operationName);
    if (compiled === undefined) {
      compiled = compile(schema, document, operationName);
      use.compiled.set(operationName, compiled);
    }
    return compiled;
  }

  return (args) => {
    const compiled = compiledFor(args);
    if (compiled === null) return execute(args);
    const given = args.variableValues ?? {};
    if (compiled.delicate.some((variable) => lacksValue(variable, given))) return execute(args);
    const variables = completed(compiled, given);
    if (variables === undefined) return execute(args);
    const result = compiled.query(args.rootValue, args.contextValue, variables) as
      | ExecutionResult
      | Promise<ExecutionResult>;
    if ('then' in result) return result.then((answer) => withPlaces(answer, args.document));
    // An answer without data means that the variables do not fit. Nothing was executed, so graphql-js may run it again and word the error.
    return 'data' in result ? withPlaces(result, args.document) : execute(args);
  };
}

function lacksValue(
  { name, hasDefault }: DelicateVariable,
  given: Readonly<Record<string, unknown>>,
): boolean {
  const value = Object.hasOwn(given, name) ? given[name] : undefined;
  return value === null || (value === undefined && !hasDefault);
}

/** Undefined if the variables do not fit: graphql-js words that error. */
function completed(
  { completes }: Compiled,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> | undefined {
  if (completes.length === 0) return given;
  const variables = { ...given };
  for (const [name, complete] of completes) {
    if (variables[name] == null) continue;
    variables[name] = complete(variables[name]);
    if (variables[name] === undefined) return undefined;
  }
  return variables;
}

/** The compiler's errors have lines and columns; GraphQL's own errors take offsets into a text. */
function withPlaces(result: ExecutionResult, { loc }: DocumentNode): ExecutionResult {
  if (result.errors === undefined || loc === undefined) return result;
  const { source } = loc;
  // The offset at which each line begins.
  const starts = [0, ...Array.from(source.body.matchAll(/\r\n|[\n\r]/g), (end) => end.index + end[0].length)];
  const errors = result.errors.map(
    ({ message, locations, path, originalError }) =>
      new GraphQLError(message, {
        source,
        positions: locations?.map(({ line, column }) => (starts[line - 1] ?? 0) + column - 1),
        path,
        originalError: originalError ?? causeOf(message),
      }),
  );
  return { ...result, errors };
}

/** Of these errors the compiler keeps only the message. A value that must not be null and is one is a fault of the server. */
function causeOf(message: string): Error | undefined {
  const known = tooDeep();
  if (message === known.message) return known;
  return message.startsWith('Cannot return null for non-nullable field') ? new Error(message) : undefined;
}

function compile(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
): Compiled | null {
  const operation = getOperationAST(document, operationName);
  if (operation == null || mergesConditions(document, operation)) return null;
  const variables = operation.variableDefinitions ?? [];
  const types = variables.map(({ type }) => typeFromAST(schema, type));
  // The compiler expands input types in full, and would never finish a recursive one.
  if (types.some((type) => isInputType(type) && isRecursive(getNamedType(type)))) return null;
  const delicate = delicateVariables(schema, document);
  if (delicate === null) return null;
  const outcome = compileQuery(schema, document, operationName ?? undefined);
  if (!isCompiledQuery(outcome)) return null;
  const completes = variables.flatMap(({ variable }, i) => {
    const type = types[i];
    const complete = isInputType(type) ? completeOf(type) : null;
    return complete === null ? [] : [[variable.name.value, complete] as const];
  });
  return { query: outcome.query, completes, delicate };
}

function isRecursive(type: GraphQLNamedInputType, above: readonly GraphQLNamedInputType[] = []): boolean {
  if (above.includes(type)) return true;
  if (!isInputObjectType(type)) return false;
  return Object.values(type.getFields()).some((field) =>
    isRecursive(getNamedType(field.type), [...above, type]),
  );
}
