/**
 * `operations` and `map` of a GraphQL multipart request: which file goes to which variables. They are checked before any file is read:
 * https://github.com/jaydenseric/graphql-multipart-request-spec
 */
import {
  type DocumentNode,
  type GraphQLInputType,
  type GraphQLSchema,
  getOperationAST,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  typeFromAST,
} from 'graphql';
import type { ReceivedFile } from '../../schema/files/received-file.ts';
import { isRecord, type Params } from './direct-operation.ts';
import { badRequest } from './request-body.ts';

/** Files in one request. */
export const maxFiles = 10;
/** Variables that may get the same file. */
const maxPaths = 10;
const maxSteps = 100;
const quote = (text: string) => JSON.stringify(text.slice(0, 80));

/** Puts a file into its variable. */
export type Place = (file: ReceivedFile) => void;

/**
 * The places of each file, by the name of its part.
 * @throws GraphQLError with the code BAD_REQUEST
 */
export function placesOf(
  map: unknown,
  params: Params,
  { schema, document }: { schema: GraphQLSchema; document: DocumentNode },
): Map<string, Place[]> {
  if (!isRecord(map)) throw badRequest('map must be an object: for each file the paths of its variables.');
  const entries = Object.entries(map);
  if (entries.length > maxFiles)
    throw badRequest(`map has ${entries.length} files; a request may have ${maxFiles}.`);
  const taken = new Set<string>();
  const placeOf = (name: string, path: unknown): Place => {
    if (typeof path !== 'string') throw badRequest(`The paths of ${quote(name)} in map must be strings.`);
    if (taken.has(path)) throw badRequest(`map names ${quote(path)} twice.`);
    taken.add(path);
    const [root, ...steps] = path.split('.', maxSteps);
    const type = root === 'variables' ? typeAt(steps, params, schema, document) : undefined;
    if (type !== 'File')
      throw badRequest(
        `map names ${quote(path)}, which is not a variable of the type File, nor a part of one.`,
      );
    return emptyPlace(params.variables, steps, path);
  };
  return new Map(
    entries.map(([name, paths]) => {
      if (!Array.isArray(paths) || paths.length === 0 || paths.length > maxPaths)
        throw badRequest(`map must name 1 to ${maxPaths} paths for ${quote(name)}.`);
      return [name, paths.map((path) => placeOf(name, path))];
    }),
  );
}

/** The name of the type at the path, as the operation declares it; undefined if there is none. */
function typeAt(
  [variable, ...steps]: readonly string[],
  { operationName }: Params,
  schema: GraphQLSchema,
  document: DocumentNode,
): string | undefined {
  const definition = getOperationAST(document, operationName)?.variableDefinitions?.find(
    ({ variable: { name } }) => name.value === variable,
  );
  const declared = definition && typeFromAST(schema, definition.type);
  let type: GraphQLInputType | undefined = isInputType(declared) ? nullable(declared) : undefined;
  for (const step of steps) {
    if (isListType(type)) type = nullable(type.ofType as GraphQLInputType);
    else if (isInputObjectType(type)) {
      const fields = type.getFields();
      type = Object.hasOwn(fields, step) ? nullable(fields[step]?.type as GraphQLInputType) : undefined;
    } else return undefined;
  }
  return type && !isListType(type) ? type.name : undefined;
}

const nullable = (type: GraphQLInputType): GraphQLInputType =>
  isNonNullType(type) ? (type.ofType as GraphQLInputType) : type;

/** The place at the path, where the request must have null. */
function emptyPlace(variables: Params['variables'], steps: readonly string[], path: string): Place {
  let holder: unknown = variables;
  for (const step of steps.slice(0, -1)) holder = member(holder, step);
  const last = steps.at(-1) as string;
  if (member(holder, last) !== null)
    throw badRequest(`map names ${quote(path)}, where operations must have null.`);
  return (file) => {
    (holder as Record<string, unknown>)[last] = file;
  };
}

const member = (holder: unknown, name: string): unknown =>
  typeof holder === 'object' && holder !== null && Object.hasOwn(holder, name)
    ? (holder as Record<string, unknown>)[name]
    : undefined;
