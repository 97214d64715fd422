/**
 * Random operations on a schema with a bit of everything, compiled and by graphql-js: the same answers and errors.
 *
 *     PROPERTY_OPERATIONS   how many (300)
 *     PROPERTY_SEED         the seed that was printed
 */
import fc from 'fast-check';
import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  GraphQLBoolean,
  GraphQLEnumType,
  GraphQLError,
  GraphQLFloat,
  GraphQLID,
  GraphQLInputObjectType,
  type GraphQLInputType,
  GraphQLInt,
  GraphQLInterfaceType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLScalarType,
  GraphQLSchema,
  GraphQLString,
  GraphQLUnionType,
  getNamedType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  isUnionType,
  Kind,
  parse,
  validate,
  valueFromASTUntyped,
} from 'graphql';
import { expect, it } from 'vitest';
import { createExecute } from '../../src/server/execution/compiled-execution.ts';
import { refuseVariables } from '../../src/server/execution/variables.ts';

/** Those that are executed and compared. */
const operations = Number(process.env.PROPERTY_OPERATIONS ?? 100);
const seed = Number(process.env.PROPERTY_SEED ?? Date.now() % 2 ** 31);

const list = <Type extends GraphQLOutputType | GraphQLInputType>(type: Type) => new GraphQLList(type);
const must = <Type extends GraphQLOutputType | GraphQLInputType>(type: Type) =>
  new GraphQLNonNull(type as never);

/** Refuses some of what it gets, in every direction. */
const Odd = new GraphQLScalarType<unknown>({
  name: 'Odd',
  serialize: (value) => {
    if (value === 'bad') throw new GraphQLError('cannot be written');
    return value;
  },
  parseValue: (value) => {
    if (typeof value !== 'number' || value % 2 === 0) throw new GraphQLError('must be odd');
    return value;
  },
});
const Json = new GraphQLScalarType<unknown>({
  name: 'Json',
  parseValue: (value) => value,
  parseLiteral: (node, variables) => {
    if (node.kind === Kind.FLOAT) throw new GraphQLError('has a fraction');
    return valueFromASTUntyped(node, variables);
  },
});
const Colour = new GraphQLEnumType({ name: 'Colour', values: { RED: { value: 1 }, GREEN: { value: 'g' } } });
const Inner = new GraphQLInputObjectType({
  name: 'Inner',
  fields: { x: { type: GraphQLFloat }, y: { type: list(GraphQLBoolean), defaultValue: [true] } },
});
const One = new GraphQLInputObjectType({
  name: 'One',
  isOneOf: true,
  fields: { a: { type: GraphQLInt }, b: { type: GraphQLString }, c: { type: Inner } },
});
const Input = new GraphQLInputObjectType({
  name: 'Input',
  fields: {
    a: { type: must(GraphQLInt) },
    b: { type: list(must(Colour)), defaultValue: [1] },
    c: { type: Inner },
    d: { type: must(GraphQLString), defaultValue: 'd' },
    j: { type: Json },
    o: { type: list(must(One)) },
    odd: { type: Odd },
  },
});
const args = {
  i: { type: GraphQLInt },
  d: { type: must(GraphQLInt), defaultValue: 7 },
  s: { type: GraphQLString, defaultValue: 's' },
  e: { type: Colour, defaultValue: 'g' },
  l: { type: list(must(GraphQLInt)), defaultValue: [1, 2] },
  ll: { type: list(list(Odd)) },
  o: { type: Input },
  one: { type: One },
  j: { type: Json },
  id: { type: GraphQLID },
  b: { type: GraphQLBoolean },
  f: { type: GraphQLFloat },
};
/** The arguments as they came, in the order of their names. */
const echo = (_: unknown, given: object) =>
  JSON.stringify(Object.entries(given).toSorted(([a], [b]) => (a < b ? -1 : 1)));
const fail = (message: string) => () => {
  throw new Error(message);
};

const Named: GraphQLInterfaceType = new GraphQLInterfaceType({
  name: 'Named',
  fields: () => ({ name: { type: must(GraphQLString) as GraphQLOutputType }, twin: { type: Named } }),
});
const fieldsOf = (name: string, others: () => object) => ({
  name,
  interfaces: [Named],
  isTypeOf: (value: unknown) => (value as { kind: string }).kind === name,
  fields: () => ({
    name: { type: must(GraphQLString) as GraphQLOutputType, resolve: () => name },
    twin: { type: Named, resolve: async () => ({ kind: name === 'A' ? 'B' : 'A' }) },
    ...others(),
  }),
});
const A: GraphQLObjectType = new GraphQLObjectType(
  fieldsOf('A', () => ({
    echo: { type: GraphQLString, args, resolve: echo },
    nothing: { type: GraphQLString, resolve: () => null },
    missing: { type: must(GraphQLString), resolve: () => null },
    late: { type: GraphQLInt, resolve: async () => 5 },
    failing: { type: GraphQLString, resolve: fail('failing') },
    failingLate: { type: must(GraphQLString), resolve: async () => fail('late')() },
    colour: { type: Colour, resolve: () => 1 },
    noColour: { type: Colour, resolve: () => 'none' },
    notAnInt: { type: GraphQLInt, resolve: () => 'x' },
    odd: { type: Odd, resolve: () => 'bad' },
    json: { type: Json, resolve: () => ({ a: [1, null], b: {} }) },
    holes: { type: list(must(GraphQLInt)), resolve: () => [1, null, 2] },
    numbers: { type: list(GraphQLInt), resolve: () => [1, null, 'x', 2 ** 40] },
    as: { type: list(A), resolve: () => [{ kind: 'A' }, null, { kind: 'A' }] },
    allAs: {
      type: must(list(must(A) as GraphQLOutputType) as GraphQLOutputType),
      resolve: async () => [{ kind: 'A' }, { kind: 'A' }],
    },
    grid: { type: list(list(must(A) as GraphQLOutputType)), resolve: () => [[{ kind: 'A' }], null, [null]] },
    thing: { type: Thing, resolve: () => ({ kind: 'B' }) },
    things: { type: list(must(Thing) as GraphQLOutputType), resolve: () => [{ kind: 'A' }, { kind: 'B' }] },
  })),
);
const B: GraphQLObjectType = new GraphQLObjectType(
  fieldsOf('B', () => ({
    value: { type: GraphQLFloat, args: { f: args.f }, resolve: () => 1.5 },
    failing: { type: GraphQLString, resolve: fail('failing') },
    a: { type: must(A), resolve: () => ({ kind: 'A' }) },
  })),
);
const Thing: GraphQLUnionType = new GraphQLUnionType({ name: 'Thing', types: () => [A, B] });
const roots = {
  a: { type: must(A) as GraphQLOutputType, resolve: () => ({ kind: 'A' }) },
  maybe: { type: A, resolve: async () => ({ kind: 'A' }) },
  thing: { type: Thing, resolve: () => ({ kind: 'B' }) },
  named: { type: list(Named), resolve: () => [{ kind: 'A' }, { kind: 'B' }] },
  echo: { type: GraphQLString, args, resolve: echo },
};
const schema = new GraphQLSchema({
  query: new GraphQLObjectType({ name: 'Query', fields: roots }),
  mutation: new GraphQLObjectType({ name: 'Mutation', fields: roots }),
});

/** Chooses what an operation has; for each choice a number. */
class Maker {
  readonly #choose: (most: number) => number;
  readonly #variables: string[] = [];
  readonly #fragments: string[] = [];
  readonly values: Record<string, unknown> = {};
  #names = 0;
  /** Whether variables are not allowed. */
  #isConstant = false;

  constructor(choose: (most: number) => number) {
    this.#choose = choose;
  }

  #one<T>(options: readonly T[]): T {
    return options[this.#choose(options.length - 1)] as T;
  }

  #maybe(outOf: number): boolean {
    return this.#choose(outOf - 1) === 0;
  }

  operation(): string {
    const kind = this.#one(['query', 'query', 'mutation']);
    const root = schema.getType(kind === 'query' ? 'Query' : 'Mutation') as GraphQLObjectType;
    const set = this.#set(root, 0);
    const variables = this.#variables.length === 0 ? '' : `(${this.#variables.join(', ')})`;
    return [`${kind} ${this.#one(['', 'Named'])} ${variables} ${set}`, ...this.#fragments].join('\n');
  }

  #set(type: GraphQLObjectType | GraphQLInterfaceType | GraphQLUnionType, depth: number): string {
    const count = 1 + this.#choose(depth === 0 ? 3 : 2);
    return `{ ${Array.from({ length: count }, () => this.#selection(type, depth)).join(' ')} }`;
  }

  #selection(type: GraphQLObjectType | GraphQLInterfaceType | GraphQLUnionType, depth: number): string {
    if (this.#maybe(4) && depth < 4) {
      const on =
        isObjectType(type) && !['A', 'B'].includes(type.name) ? type : this.#one([A, B, Named, type]);
      const isNamed = this.#maybe(2);
      const set = this.#set(on as GraphQLObjectType, depth + 1);
      if (!isNamed) return `... ${this.#one([`on ${on.name}`, `on ${on.name}`])} ${this.#directive()} ${set}`;
      const name = `F${this.#names++}`;
      this.#fragments.push(`fragment ${name} on ${on.name} ${set}`);
      return `...${name} ${this.#directive()}`;
    }
    if (isUnionType(type) || this.#maybe(12)) return `${this.#alias()} __typename ${this.#directive()}`;
    const all = Object.values(type.getFields()).filter(
      ({ type: its }) => depth < 4 || !isCompositeType(getNamedType(its)),
    );
    const field = this.#one(all);
    const given = field.args.flatMap((arg) => {
      if (this.#choose(3) > 0) return [];
      return [`${arg.name}: ${this.#argument(arg.type, arg.defaultValue !== undefined)}`];
    });
    const its = getNamedType(field.type);
    const set = isCompositeType(its) ? this.#set(its as GraphQLObjectType, depth + 1) : '';
    return `${this.#alias()} ${field.name}${given.length > 0 ? `(${given.join(', ')})` : ''} ${this.#directive()} ${set}`;
  }

  #alias(): string {
    return this.#maybe(3) ? '' : `x${this.#names++}: `;
  }

  #directive(): string {
    if (!this.#maybe(5)) return '';
    const which = this.#one(['include', 'skip']);
    return `@${which}(if: ${this.#one([() => 'true', () => 'false', () => this.#variable(must(GraphQLBoolean), false)])()})`;
  }

  #argument(type: GraphQLInputType, hasDefault: boolean): string {
    return this.#maybe(2) ? this.#variable(type, hasDefault) : this.#literal(type);
  }

  #variable(type: GraphQLInputType, hasDefault: boolean): string {
    const name = `v${this.#names++}`;
    const isMust = isNonNullType(type);
    const own =
      isMust && hasDefault && this.#maybe(2)
        ? String(type.ofType)
        : this.#maybe(4) && !isMust
          ? `${type}!`
          : `${type}`;
    this.#isConstant = true;
    const standard = this.#maybe(3) ? ` = ${this.#literal(type)}` : '';
    this.#isConstant = false;
    this.#variables.push(`$${name}: ${own}${standard}`);
    const kind = this.#choose(5);
    if (kind > 0) this.values[name] = kind === 1 ? this.#one([null, 'x', 0, {}, []]) : this.#value(type);
    return `$${name}`;
  }

  #literal(type: GraphQLInputType): string {
    if (isNonNullType(type)) return this.#literal(type.ofType);
    if (this.#maybe(8)) return 'null';
    if (isListType(type)) {
      if (this.#maybe(4)) return this.#literal(type.ofType);
      return `[${Array.from({ length: this.#choose(2) }, () => this.#inner(type.ofType)).join(', ')}]`;
    }
    if (isEnumType(type)) return this.#one(['RED', 'GREEN']);
    if (isInputObjectType(type)) {
      const fields = Object.values(type.getFields());
      const some = type.isOneOf
        ? [this.#one(fields)]
        : fields.filter(
            (field) => (isNonNullType(field.type) && field.defaultValue === undefined) || this.#maybe(3),
          );
      return `{ ${some.map((field) => `${field.name}: ${this.#inner(field.type)}`).join(', ')} }`;
    }
    if (type === Json)
      return this.#one(['1', '"j"', '{ a: [1, { b: null }] }', `{ a: ${this.#inner(Json)} }`, '[]', '1.5']);
    return JSON.stringify(this.#value(type));
  }

  #inner(type: GraphQLInputType): string {
    return !this.#isConstant && this.#maybe(4) ? this.#variable(type, false) : this.#literal(type);
  }

  #value(type: GraphQLInputType): unknown {
    if (isNonNullType(type)) return this.#value(type.ofType);
    if (this.#maybe(8)) return null;
    if (isListType(type)) {
      if (this.#maybe(5)) return this.#value(type.ofType);
      return Array.from({ length: this.#choose(2) }, () => this.#value(type.ofType));
    }
    if (isEnumType(type)) return this.#one(['RED', 'GREEN', 'GREEN', 'BLUE']);
    if (isInputObjectType(type)) {
      const fields = Object.values(type.getFields());
      const some = type.isOneOf
        ? fields.filter((_, n) => n === this.#choose(2) || this.#maybe(8))
        : fields.filter((field) => isNonNullType(field.type) || this.#maybe(2));
      return Object.fromEntries(some.map((field) => [field.name, this.#value(field.type)]));
    }
    const values: Record<string, readonly unknown[]> = {
      Int: [0, 1, -5, 2 ** 31, 1.5, '1'],
      Float: [0, 1.5, 1, -1e300, '1'],
      String: ['', 'text', 'ä"\n', 1],
      ID: ['id', 7, 1.5],
      Boolean: [true, false, 'true'],
      Odd: [1, 3, 2],
      Json: [1, 'j', null, { a: [] }, [null], false],
    };
    return this.#one(values[type.name] ?? [null]);
  }
}

/** What a client is shown of an error, but where it is in the operation: of a field that is selected twice, either place will do. */
const shown = ({ message, path, originalError }: GraphQLError) => ({
  message: originalError === undefined || originalError instanceof GraphQLError ? message : 'a fault',
  path,
});

interface Answer {
  readonly data: unknown;
  /** By the place in the answer that is null because of them. */
  readonly errors: ReadonlyMap<string, readonly string[]>;
}

async function answerOf(executor: typeof execute, given: ExecutionArgs): Promise<Answer> {
  const { data, errors: all = [] } = (await executor(given)) as ExecutionResult;
  const errors = new Map<string, string[]>();
  for (const error of all) {
    const place = nullAt(data, error.path ?? []);
    errors.set(place, [...(errors.get(place) ?? []), JSON.stringify(shown(error))]);
  }
  // The order of fields that a directive leaves out elsewhere may differ.
  return { data: JSON.parse(JSON.stringify(data ?? null)), errors };
}

function nullAt(data: unknown, path: readonly (string | number)[]): string {
  let value = data;
  let length = 0;
  for (; value != null && length < path.length; length++)
    value = (value as Record<string, unknown>)[path[length] as string];
  return JSON.stringify(path.slice(0, length));
}

/**
 * If a value is null since one below it may not be, any error from below is enough: which ones there are depends on how soon the others are left
 * out.
 */
function checkSame(answer: Answer, expected: Answer, what: string): void {
  expect(answer.data, what).toEqual(expected.data);
  expect([...answer.errors.keys()].toSorted(), what).toEqual([...expected.errors.keys()].toSorted());
  for (const [place, errors] of answer.errors) {
    const others = expected.errors.get(place) ?? [];
    const areOfPlace = [...errors, ...others].every(
      (error) => JSON.stringify(JSON.parse(error).path ?? []) === place,
    );
    if (areOfPlace) expect(errors, what).toEqual(others);
  }
}

it(`what is compiled answers as graphql-js does (PROPERTY_SEED=${seed})`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.gen(), async (g) => {
      const maker = new Maker((most) => g(fc.nat, { max: most }));
      const text = maker.operation();
      const document: DocumentNode = parse(text);
      fc.pre(validate(schema, document).length === 0);
      const given = { schema, document, variableValues: maker.values, contextValue: {} };
      // These never come to be executed.
      fc.pre(refuseVariables(given) === undefined);
      const answer = await answerOf(createExecute({ compileAfter: 0 }) as typeof execute, given);
      checkSame(answer, await answerOf(execute, given), `${text}\n${JSON.stringify(maker.values)}`);
    }),
    {
      seed,
      numRuns: operations,
      maxSkipsPerRun: 100,
      interruptAfterTimeLimit: 100_000,
      markInterruptAsFailure: true,
    },
  );
});
