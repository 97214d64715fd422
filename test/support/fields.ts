/** The fields of the schema, and operations that ask for each of them. */
import {
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLObjectType,
  getNamedType,
  getNullableType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredArgument,
  isRequiredInputField,
} from 'graphql';
import type { Permission } from '../../src/domain/access/rights.ts';
import { schema } from '../../src/schema/index.ts';

export type Field = GraphQLField<unknown, unknown>;

export interface Step {
  readonly type: GraphQLObjectType;
  readonly field: Field;
}

/** What a root field needs. */
export function permissionOf(field: Field): Permission | undefined {
  const options = field.extensions.pothosOptions as { authScopes?: { may?: Permission } } | undefined;
  return options?.authScopes?.may;
}

/** The first way from these types by which each field can be asked for; those that are preferred are tried first. */
export function waysToFields(
  roots: readonly (GraphQLObjectType | null | undefined)[],
  isPreferred: (way: readonly Step[]) => boolean = () => true,
): Map<string, readonly Step[]> {
  const ways = new Map<string, readonly Step[]>();
  const visited = new Set<string>();
  const open = roots.map((type) => ({ type: type as GraphQLObjectType, way: [] as readonly Step[] }));
  for (;;) {
    const index = Math.max(
      0,
      open.findIndex(({ way }) => isPreferred(way)),
    );
    const [next] = open.splice(index, 1);
    if (next === undefined) return ways;
    if (visited.has(next.type.name)) continue;
    visited.add(next.type.name);
    for (const field of Object.values(next.type.getFields())) {
      const way = [...next.way, { type: next.type, field }];
      ways.set(`${next.type.name}.${field.name}`, way);
      const target = getNamedType(field.type);
      const types = isAbstractType(target)
        ? schema.getPossibleTypes(target)
        : isObjectType(target)
          ? [target]
          : [];
      for (const type of types) open.push({ type, way });
    }
  }
}

/** Ids that stand where one is needed. */
export interface Ids {
  readonly job: string;
  /** Where a query is about an item; else the job's. */
  readonly item?: string | undefined;
}

/** The smallest arguments that GraphQL takes. */
export function toArgs({ args }: Field, ids: Ids, type?: string): string {
  const required = args.filter(isRequiredArgument);
  const isOfItem = type === 'Query' && args.length === 1 && args[0]?.description?.includes('item');
  const id = (isOfItem ? ids.item : undefined) ?? ids.job;
  return required.length === 0
    ? ''
    : `(${required.map((arg) => `${arg.name}: ${toValue(arg.type, id)}`).join()})`;
}

/** Arguments in many ways: the smallest ones, and the same with each other argument, each field of an input and each value of an enum. */
export function toManyArgs(
  { args }: Field,
  toText: (name: string, type: GraphQLInputType) => string,
): string[] {
  const ways = args.map((arg) => ({
    texts: textsOf(arg.name, arg.type, toText).map((text) => `${arg.name}: ${text}`),
    isRequired: isRequiredArgument(arg),
  }));
  const smallest = ways.map(({ texts, isRequired }) => (isRequired ? texts[0] : undefined));
  const all = [smallest, ...ways.flatMap(({ texts }, i) => texts.map((text) => smallest.with(i, text)))];
  return [...new Set(all.map((parts) => parts.filter((part) => part !== undefined).join()))];
}

function textsOf(
  name: string,
  type: GraphQLInputType,
  toText: (name: string, type: GraphQLInputType) => string,
): string[] {
  const named = getNamedType(type);
  const inList = (text: string) => (isListType(getNullableType(type)) ? `[${text}]` : text);
  if (isEnumType(named)) return named.getValues().map((value) => inList(value.name));
  if (isInputObjectType(named))
    return Object.values(named.getFields()).flatMap((part) =>
      textsOf(part.name, part.type, toText).map((text) => inList(`{ ${part.name}: ${text} }`)),
    );
  return [toText(name, type)];
}

export function toValue(type: GraphQLInputType, id: string): string {
  if (isNonNullType(type)) return toValue(type.ofType, id);
  if (isListType(type)) return `[${toValue(type.ofType, id)}]`;
  if (isEnumType(type)) return type.getValues()[0]?.name ?? '';
  if (isInputObjectType(type)) {
    const fields = Object.values(type.getFields());
    const required = type.isOneOf
      ? fields.filter((field) => getNamedType(field.type).name !== 'File').slice(0, 1)
      : fields.filter(isRequiredInputField);
    return `{ ${required.map((field) => `${field.name}: ${toValue(field.type, id)}`).join()} }`;
  }
  const values: Record<string, string> = {
    ID: `"${id}"`,
    Boolean: 'true',
    DateTime: '"2030-01-01T00:00:00Z"',
    File: '$file',
  };
  return values[type.name] ?? (['Int', 'Float', 'Count'].includes(type.name) ? '1' : '"x"');
}

/** The operation that asks for the last field of a way, and as little else as it can; or for several of its type. */
export function toOperation(way: readonly Step[], ids: Ids, fields?: readonly Field[]): string {
  const last = way.at(-1) as Step;
  const asked = (fields ?? [last.field]).map((field) => {
    const isLeaf = isLeafType(getNamedType(field.type));
    return `${field.name}${toArgs(field, ids, last.type.name)}${isLeaf ? '' : ' { __typename }'}`;
  });
  const inner = way
    .slice(0, -1)
    .toReversed()
    .reduce(
      ({ selection, on }, { type, field }) => ({
        selection: `${field.name}${toArgs(field, ids, type.name)} { ... on ${on} { ${selection} } }`,
        on: type.name,
      }),
      { selection: asked.join(' '), on: last.type.name },
    ).selection;
  const kind = way[0]?.type.name.toLowerCase();
  return `${kind}${inner.includes('$file') ? ' ($file: File!)' : ''} { ${inner} }`;
}
