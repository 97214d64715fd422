/**
 * Compiles the JSON Schemas of strangers into checks that can't stall the server. Only listed keywords are supported (no
 * references to other documents or in cycles, only regular expressions that take linear time), and an upper bound of the work is
 * known before anything is checked:
 *
 *   the bytes of a value × the cost of its schema ≤ `maxSchemaWork`
 *
 * where the cost is how many parts of the schema one byte can meet at most, with references expanded.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { isDeeperThan } from '../values/checks.ts';
import { maxSchemaBytes, maxSchemaCost, maxSchemaDepth, maxSchemaParts } from '../values/limits.ts';
import { Patterns } from './patterns.ts';
import { type Problem, toProblem } from './schema-problems.ts';

/** High, since the elements of a list are serialized to compare them. */
const costOfUniqueness = 20;

/** Why a schema is not accepted; `path` leads to the part at fault. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError';
  readonly path: string;

  constructor(path: string, why: string) {
    super(`${path} ${why}`);
    this.path = path;
  }
}

export interface Validator {
  /** How many parts of the schema one byte of a value can meet at most. */
  readonly cost: number;
  /** Of its regular expressions, which are most of what it keeps. */
  readonly instructions: number;
  /** The first problem of the value; its path begins with `field`. */
  check(value: unknown, field: string): Problem | undefined;
}

type Schema = Readonly<Record<string, unknown>>;

const plain = new Set([
  ...['type', 'enum', 'const', 'pattern', 'required', 'dependentRequired', 'uniqueItems'],
  ...['multipleOf', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum'],
  ...['maxLength', 'minLength', 'maxItems', 'minItems', 'maxContains', 'minContains'],
  ...['maxProperties', 'minProperties'],
]);
/** Keywords that inform people and programs, and check nothing. */
const annotations = new Set([
  ...['$schema', '$id', '$comment', 'title', 'description', 'default', 'examples', 'deprecated'],
  ...['readOnly', 'writeOnly', 'format', 'contentEncoding', 'contentMediaType'],
]);
const holdingOne = new Set([
  ...['additionalProperties', 'propertyNames', 'items', 'contains', 'not', 'if', 'then', 'else'],
]);
const holdingLists = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const holdingMaps = new Set(['properties', 'patternProperties', 'dependentSchemas']);
const definitions = new Set(['$defs', 'definitions']);

let before: Promise<unknown> = Promise.resolve();

/** Compiles schemas one at a time, and afterwards leaves the event loop to others for as long as it took. @throws SchemaError */
export function compileInTurn(schema: unknown, field: string): Promise<Validator> {
  let tookMs = 0;
  const compiled = before.then(() => {
    const startedAt = performance.now();
    try {
      return compileSchema(schema, field);
    } finally {
      tookMs = performance.now() - startedAt;
    }
  });
  before = compiled.catch(() => undefined).then(() => delay(tookMs));
  return compiled;
}

/** @throws SchemaError */
export function compileSchema(schema: unknown, field: string): Validator {
  if (isDeeperThan(schema, maxSchemaDepth))
    throw new SchemaError(field, `is more than ${maxSchemaDepth} levels deep.`);
  const text = JSON.stringify(schema) ?? '';
  const bytes = Buffer.byteLength(text);
  if (bytes > maxSchemaBytes)
    throw new SchemaError(field, `has ${bytes} bytes of JSON; the limit is ${maxSchemaBytes}.`);
  const survey = new Survey(schema, field);
  const cost = survey.cost();
  const ajv = new Ajv2020({
    strict: true,
    strictTypes: false,
    strictRequired: false,
    strictTuples: false,
    allErrors: false,
    validateFormats: false,
    validateSchema: true,
    addUsedSchema: false,
    ownProperties: true,
    logger: false,
    code: { regExp: survey.patterns.regExp },
  });
  // Ajv's own compares each element with every other one.
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({ keyword: 'uniqueItems', type: 'array', schemaType: 'boolean', validate: areUnique });
  try {
    const validate = ajv.compile(survey.bare(schema) as Schema | boolean);
    return {
      cost,
      instructions: survey.patterns.instructions,
      check: (value, at) => (validate(value) ? undefined : toProblem(validate.errors?.[0], at, schema)),
    };
  } catch (error) {
    throw new SchemaError(field, `is not a JSON Schema: ${error instanceof Error ? error.message : error}.`);
  }
}

/** Walks a schema, following its references. The limit on the number of parts also limits how long this takes. */
class Survey {
  readonly patterns = new Patterns();
  readonly #root: unknown;
  readonly #field: string;
  #parts = 0;

  constructor(root: unknown, field: string) {
    this.#root = root;
    this.#field = field;
  }

  /** How many parts of it one byte of a value can meet at most. */
  cost(): number {
    const cost = this.#visit(this.#root, this.#field, []);
    if (cost > maxSchemaCost)
      throw new SchemaError(
        this.#field,
        `costs ${cost}; the limit is ${maxSchemaCost}. Each schema, each value of an enum, each property that is named and each character of a regular expression costs about 1.`,
      );
    // Definitions that nothing refers to are compiled, too, so they must pass.
    for (const name of definitions)
      for (const [key, schema] of Object.entries(asMap(asMap(this.#root)?.[name]) ?? {}))
        this.#visit(schema, `${this.#field}.${name}.${key}`, []);
    return cost;
  }

  /** The schema without its name and dialect, since all schemas are read in the same one. */
  bare(schema: unknown): unknown {
    const map = asMap(schema);
    if (map === undefined) return schema;
    const { $schema, $id, ...rest } = map;
    return rest;
  }

  #visit(schema: unknown, path: string, refs: readonly string[]): number {
    this.#count(path);
    if (typeof schema === 'boolean') return 1;
    const map = asMap(schema);
    if (map === undefined) throw new SchemaError(path, 'must be a schema: an object, or true or false.');
    let cost = 1;
    // An element or member meets only one of these schemas, so the most expensive one counts.
    let apart = 0;
    for (const [key, value] of Object.entries(map)) {
      const at = `${path}.${key}`;
      if (annotations.has(key)) {
        if (key === '$id' && map !== this.#root)
          throw new SchemaError(at, 'is not supported below the root.');
      } else if (key === 'pattern') cost += this.#pattern(value, at);
      else if (plain.has(key)) cost += key === 'uniqueItems' ? costOfUniqueness : countParts(value);
      else if (key === '$ref') cost += this.#follow(value, at, refs);
      else if (key === 'properties' || key === 'prefixItems') {
        const members = this.#members(key, value, at, refs);
        cost += members.length;
        apart = Math.max(apart, ...members);
      } else if (key === 'items' || key === 'additionalProperties')
        apart = Math.max(apart, this.#visit(value, at, refs));
      else if (holdingOne.has(key)) cost += this.#visit(value, at, refs);
      else if (holdingLists.has(key) || holdingMaps.has(key))
        for (const member of this.#members(key, value, at, refs)) cost += member;
      else if (definitions.has(key)) {
        if (map !== this.#root) throw new SchemaError(at, 'is not supported below the root.');
        this.#map(value, at);
      } else throw new SchemaError(at, 'is not a keyword that is supported.');
    }
    return cost + apart;
  }

  /** The cost of each schema in a list or a map. */
  #members(key: string, value: unknown, at: string, refs: readonly string[]): number[] {
    if (holdingLists.has(key)) {
      if (!Array.isArray(value)) throw new SchemaError(at, 'must be a list of schemas.');
      return value.map((one, i) => this.#visit(one, `${at}[${i}]`, refs));
    }
    return Object.entries(this.#map(value, at)).map(([name, one]) => {
      const ofName = key === 'patternProperties' ? this.#pattern(name, at) : 0;
      return ofName + this.#visit(one, `${at}.${name}`, refs);
    });
  }

  #follow(value: unknown, at: string, refs: readonly string[]): number {
    const [, place = '', name = ''] = /^#\/(\$defs|definitions)\/([^/~%]+)$/.exec(String(value)) ?? [];
    const map = asMap(asMap(this.#root)?.[place]);
    if (map === undefined || !Object.hasOwn(map, name))
      throw new SchemaError(at, 'must be "#/$defs/" and the name of a definition in the same schema.');
    if (refs.includes(name)) throw new SchemaError(at, "is circular: a schema can't refer to itself.");
    return this.#visit(map[name], `${this.#field}.${place}.${name}`, [...refs, name]);
  }

  #pattern(pattern: unknown, at: string): number {
    if (typeof pattern !== 'string') throw new SchemaError(at, 'must be a text.');
    try {
      return this.patterns.add(pattern);
    } catch (error) {
      throw new SchemaError(at, `${(error as Error).message}.`);
    }
  }

  #map(value: unknown, at: string): Schema {
    const map = asMap(value);
    if (map === undefined) throw new SchemaError(at, 'must be an object of schemas.');
    return map;
  }

  #count(path: string): void {
    if (++this.#parts > maxSchemaParts)
      throw new SchemaError(
        this.#field,
        `has more than ${maxSchemaParts} schemas in it, with references written out, at ${path}.`,
      );
  }
}

function asMap(value: unknown): Schema | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : undefined;
}

function countParts(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  let count = 1;
  for (const part of Object.values(value)) count += countParts(part);
  return count;
}

function areUnique(isWanted: boolean, list: readonly unknown[]): boolean {
  return !isWanted || new Set(list.map(canonical)).size === list.length;
}

/** Returns the same text for values that JSON Schema considers equal. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, one) => {
    const map = asMap(one);
    return map === undefined
      ? one
      : Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
