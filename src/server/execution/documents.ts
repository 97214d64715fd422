/**
 * Parses operations, and refuses those that would cost more to validate and execute than any real operation. The cost of the rows that an
 * operation reads is judged by the schema, which knows the variables.
 */
import {
  type ConstValueNode,
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  parse,
  type SelectionSetNode,
  type Source,
  type ValueNode,
  visit,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { maxJsonDepth } from '../../domain/values/limits.ts';
import { limitExceeded } from '../../schema/core/limit-exceeded.ts';

/** Fragments count wherever they are spread. GraphiQL's introspection is 14 levels deep. */
const maxDepth = 20;
const maxFields = 1_000;
const maxAliases = 100;
/** Of fields with the same place in the answer: validation compares each with all others, which takes a second for a thousand. */
const maxRepeats = 50;
/** How often an operation may select the schema, which has thousands of values. */
const maxSchemas = 5;
/** Selections visited in all operations and fragments of a document, with fragments counted wherever they are spread. */
const maxSelections = 20 * maxFields;
/** Of argument values: enough for the deepest JSON in an item of the deepest tree. */
const maxValueDepth = maxJsonDepth + 100;
/** Of the text, in UTF-16 units: anything larger belongs in variables. Quoting a block of so many lines in an error takes 30 ms. */
const maxLength = 250_000;
/** Names are quoted in errors, and an alias is repeated in the answer for each value. */
const maxNameLength = 200;
// Matches only from the start of a word: a search from every character would take a second for a megabyte.
const longName = new RegExp(`\\b\\w{${maxNameLength + 1}}`);

export function readDocument(source: string | Source, maxTokens: number): DocumentNode {
  const text = typeof source === 'string' ? source : source.body;
  if (text.length > maxLength) {
    const found = `The operation has ${text.length.toLocaleString('en')} characters`;
    throw limitExceeded('length', `${found}; send values in variables`, maxLength);
  }
  try {
    const document = parse(source, { maxTokens });
    if (longName.test(text)) checkNames(document);
    check(document);
    return document;
  } catch (error) {
    // The parser's recursion overflowed the stack.
    if (error instanceof RangeError) throw limitExceeded('depth', 'This is nested too deeply', maxValueDepth);
    if (error instanceof GraphQLError && error.message.includes('tokens. Parsing aborted')) {
      throw limitExceeded('tokens', 'There are too many tokens; send values in variables', maxTokens);
    }
    throw error;
  }
}

/** Longer texts are not cached. */
export const maxKnownLength = 4_000;

/**
 * A cache of parsed documents and their validation errors. A parsed document takes about a hundred times the memory of its text; programs send
 * the same few small ones, while large ones most likely differ every time.
 */
export class Documents {
  readonly #maxTokens: number;
  readonly #parsed = new LRUCache<string, DocumentNode>({
    maxSize: 200_000,
    maxEntrySize: maxKnownLength,
    sizeCalculation: (_, text) => text.length + 1,
  });
  readonly #found = new WeakMap<DocumentNode, readonly GraphQLError[]>();

  constructor(maxTokens: number) {
    this.#maxTokens = maxTokens;
  }

  /** @throws GraphQLError if the text does not parse, or asks for too much */
  read(source: string | Source): DocumentNode {
    const text = typeof source === 'string' ? source : source.body;
    const known = this.#parsed.get(text);
    if (known !== undefined) return known;
    const document = readDocument(source, this.#maxTokens);
    this.#parsed.set(text, document);
    return document;
  }

  /** Cached by document alone: there is one schema and one set of rules. */
  problems(document: DocumentNode, find: () => readonly GraphQLError[]): readonly GraphQLError[] {
    let found = this.#found.get(document);
    if (found === undefined) {
      found = find();
      this.#found.set(document, found);
    }
    return found;
  }
}

function check(document: DocumentNode): void {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  const measure = new Measure(fragments);
  const repeats = new Repeats(fragments);
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION && definition.kind !== Kind.FRAGMENT_DEFINITION)
      continue;
    for (const { defaultValue } of definition.variableDefinitions ?? []) checkValue(defaultValue, 1);
    const { fields, aliases, depth } = measure.of(definition.selectionSet);
    if (depth > maxDepth) throw limitExceeded('depth', `Fields are nested ${depth} deep`, maxDepth);
    if (aliases > maxAliases) throw limitExceeded('aliases', `There are ${aliases} aliases`, maxAliases);
    if (fields > maxFields) throw limitExceeded('fields', `There are ${fields} fields`, maxFields);
    repeats.check(definition.selectionSet);
  }
}

function checkNames(document: DocumentNode): void {
  visit(document, {
    Name: ({ value }) => {
      if (value.length <= maxNameLength) return;
      const found = `A name has ${value.length.toLocaleString('en')} characters`;
      throw limitExceeded('names', found, maxNameLength);
    },
  });
}

interface Size {
  fields: number;
  aliases: number;
  depth: number;
}

class Measure {
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #known = new Map<string, Size>();

  constructor(fragments: ReadonlyMap<string, FragmentDefinitionNode>) {
    this.#fragments = fragments;
  }

  of({ selections }: SelectionSetNode): Size {
    const size = { fields: 0, aliases: 0, depth: 0 };
    for (const selection of selections) {
      const isField = selection.kind === Kind.FIELD;
      if (isField) for (const argument of selection.arguments ?? []) checkValue(argument.value, 1);
      const below =
        selection.kind === Kind.FRAGMENT_SPREAD
          ? this.#ofFragment(selection.name.value)
          : selection.selectionSet && this.of(selection.selectionSet);
      size.fields += 1 + (below?.fields ?? 0);
      size.aliases += (isField && selection.alias !== undefined ? 1 : 0) + (below?.aliases ?? 0);
      size.depth = Math.max(size.depth, (isField ? 1 : 0) + (below?.depth ?? 0));
    }
    return size;
  }

  #ofFragment(name: string): Size | undefined {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    // Validation reports fragments that spread themselves and those that do not exist.
    this.#known.set(name, { fields: 0, aliases: 0, depth: 0 });
    const fragment = this.#fragments.get(name);
    if (fragment === undefined) return undefined;
    const size = this.of(fragment.selectionSet);
    this.#known.set(name, size);
    return size;
  }
}

/** Counts how often each place in the answer, and the schema, is selected. */
class Repeats {
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  #selections = 0;
  #schemas = 0;

  constructor(fragments: ReadonlyMap<string, FragmentDefinitionNode>) {
    this.#fragments = fragments;
  }

  check(selectionSet: SelectionSetNode): void {
    this.#visit(selectionSet, '', new Map(), new Set());
  }

  #visit(
    { selections }: SelectionSetNode,
    path: string,
    counts: Map<string, number>,
    open: Set<string>,
  ): void {
    for (const selection of selections) {
      if (++this.#selections > maxSelections)
        throw limitExceeded('fields', 'Fragments are spread too often', maxFields);
      if (selection.kind === Kind.FIELD) {
        const place = `${path}.${selection.alias?.value ?? selection.name.value}`;
        if (selection.name.value === '__schema' && ++this.#schemas > maxSchemas)
          throw limitExceeded('fields', 'The schema is asked for too often', maxSchemas);
        const count = (counts.get(place) ?? 0) + 1;
        counts.set(place, count);
        if (count > maxRepeats) {
          const found = `${place.slice(1)} is asked for more than ${maxRepeats} times`;
          throw limitExceeded('repeats', found, maxRepeats);
        }
        if (selection.selectionSet !== undefined) this.#visit(selection.selectionSet, place, counts, open);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        this.#visit(selection.selectionSet, path, counts, open);
      } else {
        const name = selection.name.value;
        const fragment = this.#fragments.get(name);
        // Validation reports a fragment that spreads itself.
        if (fragment === undefined || open.has(name)) continue;
        open.add(name);
        this.#visit(fragment.selectionSet, path, counts, open);
        open.delete(name);
      }
    }
  }
}

function checkValue(value: ConstValueNode | ValueNode | undefined, depth: number): void {
  if (depth > maxValueDepth) throw limitExceeded('depth', 'A value is nested too deeply', maxValueDepth);
  if (value?.kind === Kind.LIST) for (const element of value.values) checkValue(element, depth + 1);
  if (value?.kind === Kind.OBJECT) for (const field of value.fields) checkValue(field.value, depth + 1);
}
