/**
 * Checks the variables of an operation before GraphQL does. GraphQL's own check goes through all of them whatever it finds, looks for names that
 * resemble a wrong one, and quotes the whole value in every error: a few megabytes then take half a minute and gigabytes. This check stops after
 * a few problems, quotes only the start of values, and limits lists and nesting.
 *
 * It does not look into values of the scalar JSON, which the operations measure.
 */
import {
  type ExecutionArgs,
  GraphQLError,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLLeafType,
  getOperationAST,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  isRequiredInputField,
  typeFromAST,
} from 'graphql';
import { limitExceeded } from '../../schema/core/limit-exceeded.ts';

/** Nesting of lists and objects; a tree of jobs has 65 levels. */
const maxDepth = 100;
/** No list of the API may be longer; the operations have lower limits of their own. */
const maxListLength = 10_000;
const maxProblems = 5;
const maxQuoted = 80;
/** Of a text for an enum, a number, an instant …: no valid one is half as long. GraphQL compares it with all values of an enum, and quotes it. */
const maxWordLength = 200;

/** Why the operation can't have these variables; undefined if it can. */
export function refuseVariables({
  schema,
  document,
  operationName,
  variableValues,
}: ExecutionArgs): GraphQLError[] | undefined {
  const operation = getOperationAST(document, operationName);
  const definitions = operation?.variableDefinitions;
  if (definitions === undefined || definitions.length === 0) return undefined;
  const problems: GraphQLError[] = [];
  for (const node of definitions) {
    const name = node.variable.name.value;
    const type = typeFromAST(schema, node.type);
    if (!isInputType(type)) continue;
    const value =
      variableValues != null && Object.hasOwn(variableValues, name) ? variableValues[name] : undefined;
    // A missing value is left to GraphQL, whose check for it is quick.
    if (value == null || fitOf(type)(value, 1)) continue;
    const walk = new Walk(name, (at, wrong, message) => {
      const place = at === name ? '' : ` at "${cut(at)}"`;
      const text = `Variable "$${name}" got invalid value ${quote(wrong)}${place}; ${cut(message, 300)}`;
      problems.push(new GraphQLError(text, { nodes: node }));
      if (problems.length === maxProblems) throw enough;
    });
    try {
      walk.visit(type, value, 1);
    } catch (error) {
      if (error === enough) break;
      if (error instanceof GraphQLError) return [error];
      throw error;
    }
  }
  return problems.length > 0 ? problems : undefined;
}

const enough = Symbol('enough problems');

type Fit = (value: unknown, depth: number) => boolean;

/** Checks, made once for each type, that a value is surely valid. Nearly all are; only for the others a `Walk` finds out what is wrong where. */
const fits = new WeakMap<GraphQLInputType, Fit>();

function fitOf(type: GraphQLInputType): Fit {
  let fit = fits.get(type);
  if (fit === undefined) {
    fit = makeFit(type);
    fits.set(type, fit);
  }
  return fit;
}

function makeFit(type: GraphQLInputType): Fit {
  if (isNonNullType(type)) {
    const inner = fitOf(type.ofType);
    return (value, depth) => value != null && inner(value, depth);
  }
  if (isListType(type)) {
    const inner = fitOf(type.ofType);
    return (value, depth) => {
      if (value == null) return true;
      if (!Array.isArray(value) || value.length > maxListLength || depth >= maxDepth) return false;
      for (const element of value) if (!inner(element, depth + 1)) return false;
      return true;
    };
  }
  if (isInputObjectType(type)) {
    const fields = new Map(Object.entries(type.getFields()));
    const required = [...fields.values()].filter(isRequiredInputField).map(({ name }) => name);
    return (value, depth) => {
      if (value == null) return true;
      if (typeof value !== 'object' || Array.isArray(value) || depth >= maxDepth) return false;
      const members = value as Record<string, unknown>;
      for (const key in members) {
        const field = fields.get(key);
        if (field === undefined || !fitOf(field.type)(members[key], depth + 1)) return false;
      }
      return required.every((name) => Object.hasOwn(members, name));
    };
  }
  return (value) => {
    if (value == null || (typeof value === 'string' && isText(type.name))) return true;
    if (isLarge(type, value)) return false;
    try {
      return type.parseValue(value) !== undefined;
    } catch {
      return false;
    }
  };
}

const isText = (name: string) => name === 'String' || name === 'ID';
const isWhole = (name: string) => name === 'JSON' || name === 'File';

/** Whether the value is too large for a leaf of this type, so that it need not be read. */
function isLarge({ name }: GraphQLLeafType, value: unknown): boolean {
  if (isWhole(name)) return false;
  if (typeof value === 'string') return !isText(name) && value.length > maxWordLength;
  return typeof value === 'object' && value !== null;
}

class Walk {
  readonly #path: (string | number)[];
  readonly #report: (at: string, wrong: unknown, message: string) => void;

  constructor(variable: string, report: (at: string, wrong: unknown, message: string) => void) {
    this.#path = [variable];
    this.#report = report;
  }

  visit(type: GraphQLInputType, value: unknown, depth: number): void {
    if (depth > maxDepth) throw limitExceeded('depth', 'A variable is nested too deeply', maxDepth);
    if (isNonNullType(type)) {
      if (value == null) this.#problem(value, `Expected non-nullable type "${type}" not to be null.`);
      else this.visit(type.ofType, value, depth);
    } else if (value == null) {
      return;
    } else if (isListType(type)) {
      // A single value stands for a list of one.
      if (Array.isArray(value)) this.#visitList(type.ofType, value, depth);
      else this.visit(type.ofType, value, depth + 1);
    } else if (isInputObjectType(type)) {
      if (typeof value !== 'object' || Array.isArray(value))
        this.#problem(value, `Expected type "${type.name}" to be an object.`);
      else this.#visitObject(type, value as Record<string, unknown>, depth);
    } else if (isLarge(type, value)) {
      this.#problem(value, `${type.name} cannot represent a value like this.`);
    } else {
      try {
        if (type.parseValue(value) === undefined) this.#problem(value, `Expected type "${type.name}".`);
      } catch (error) {
        if (error === enough) throw error;
        this.#problem(value, error instanceof Error ? error.message : `Expected type "${type.name}".`);
      }
    }
  }

  #visitList(type: GraphQLInputType, values: readonly unknown[], depth: number): void {
    if (values.length > maxListLength) {
      const found = `A list in the variables has ${values.length.toLocaleString('en')} entries`;
      throw limitExceeded('entries', found, maxListLength);
    }
    for (const [i, element] of values.entries()) {
      this.#path.push(i);
      this.visit(type, element, depth + 1);
      this.#path.pop();
    }
  }

  #visitObject(type: GraphQLInputObjectType, value: Record<string, unknown>, depth: number): void {
    const fields = type.getFields();
    for (const key in value) {
      if (!Object.hasOwn(fields, key))
        this.#problem(value, `Field "${cut(key)}" is not defined by type "${type.name}".`);
    }
    for (const name in fields) {
      const field = fields[name];
      if (field === undefined) continue;
      const member = Object.hasOwn(value, name) ? value[name] : undefined;
      if (member === undefined) {
        if (isNonNullType(field.type) && field.defaultValue === undefined)
          this.#problem(value, `Field "${name}" of required type "${field.type}" was not provided.`);
        continue;
      }
      this.#path.push(name);
      this.visit(field.type, member, depth + 1);
      this.#path.pop();
    }
  }

  #problem(value: unknown, message: string): void {
    const [variable, ...steps] = this.#path;
    const at = steps.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('');
    this.#report(`${variable}${at}`, value, message);
  }
}

function cut(text: string, most = maxQuoted): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** A short quote of a value, never the whole of a large one. */
function quote(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(cut(value));
  if (Array.isArray(value)) return `[${value.length === 0 ? '' : '…'}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  // Its names are not asked for: even the first of fifty thousand takes as long as all of them.
  return '{…}';
}
