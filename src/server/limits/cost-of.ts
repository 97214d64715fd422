/**
 * The cost of an operation: how many values its answer has if all pages are full. Lists say in the schema how long they can be. The jobs of a tree
 * are counted together: however many levels of `children` are selected, a tree has no more jobs than it may have.
 */
import { getMappedArgumentValues } from '@pothos/core';
import {
  type ExecutionArgs,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLError,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  getOperationAST,
  getVariableValues,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import { maxTreeJobs } from '../../domain/values/limits.ts';
import { limitExceeded } from '../../schema/core/limit-exceeded.ts';
import { valuesOfTurn } from '../../schema/core/turns-plugin.ts';

/** A cost of each value, or for each of so many; what the schema says of a field. */
type FieldCost = number | { readonly field?: number; readonly multiplier?: number };

/** The values of one node: its own, and those of the jobs below it, by level. */
interface Cost {
  own: number;
  readonly below: number[];
}

/** Undefined if the operation will not be executed. */
export function costOf(args: ExecutionArgs): number | undefined {
  const { schema, document, operationName } = args;
  const operation = getOperationAST(document, operationName);
  const root = operation && schema.getRootType(operation.operation);
  if (operation == null || root == null) return undefined;
  try {
    return inAll(new Count(args, operation).of(operation.selectionSet, root));
  } catch {
    // The variables are wrong, or an argument is; execution reports that.
    return undefined;
  }
}

/** From this cost on an operation is expensive; in values that the answer could have, each of which takes up to a kilobyte until it is written. */
export const heavyCost = valuesOfTurn;

/** In how many turns of the event loop an operation of this cost completes its long lists. */
export const turnsOf = (cost: number) => Math.ceil(cost / valuesOfTurn);

export function tooCostly(cost: number, maximum: number): GraphQLError {
  return limitExceeded(
    'cost',
    `The answer could have ${cost.toLocaleString('en')} values, with all pages full; ask for smaller pages (\`first\`), fewer fields or fewer levels`,
    maximum,
  );
}

/** With what is below: all levels together have no more jobs than a tree, of which `maxChildren` are children of one job. */
function inAll({ own, below: [first = 0, ...deeper] }: Cost): number {
  return own + maxChildren * first + (maxTreeJobs - maxChildren) * Math.max(0, ...deeper);
}

/** A job rarely has as many children as a tree can have jobs. */
const maxChildren = 300;

class Count {
  readonly #schema: GraphQLSchema;
  readonly #context: object;
  readonly #fragments = new Map<string, FragmentDefinitionNode>();
  /** Called only if a cost depends on arguments: the items that a mutation adds take longer than all the rest of this. */
  readonly #coerce: () => ReturnType<typeof getVariableValues>;
  #variables: Record<string, unknown> | undefined;
  /** Fragments count wherever they are spread, but are looked through once. */
  readonly #known = new Map<SelectionSetNode, Map<GraphQLNamedType, Cost>>();

  constructor(
    { schema, document, variableValues, contextValue }: ExecutionArgs,
    { variableDefinitions = [] }: OperationDefinitionNode,
  ) {
    this.#schema = schema;
    this.#context = contextValue as object;
    this.#coerce = () => getVariableValues(schema, variableDefinitions, { ...variableValues });
    for (const part of document.definitions)
      if (part.kind === Kind.FRAGMENT_DEFINITION) this.#fragments.set(part.name.value, part);
  }

  of(set: SelectionSetNode, type: GraphQLNamedType): Cost {
    let known = this.#known.get(set);
    if (known === undefined) {
      known = new Map();
      this.#known.set(set, known);
    }
    let sum = known.get(type);
    if (sum !== undefined) return sum;
    sum = { own: 0, below: [] };
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) {
        this.#addField(sum, selection, type);
        continue;
      }
      const part =
        selection.kind === Kind.INLINE_FRAGMENT ? selection : this.#fragments.get(selection.name.value);
      const on = part?.typeCondition && this.#schema.getType(part.typeCondition.name.value);
      if (part !== undefined) add(sum, this.of(part.selectionSet, on ?? type));
    }
    known.set(type, sum);
    return sum;
  }

  #addField(sum: Cost, node: FieldNode, type: GraphQLNamedType): void {
    const field = isObjectType(type) || isInterfaceType(type) ? type.getFields()[node.name.value] : undefined;
    const each = field && node.selectionSet && this.of(node.selectionSet, getNamedType(field.type));
    if (type.name === 'Job' && node.name.value === 'children' && each !== undefined) {
      add(sum, { own: 1, below: [each.own, ...each.below] });
      return;
    }
    if (type.name === 'Job' && node.name.value === 'tree' && each !== undefined) {
      // The children of all jobs of the tree are its jobs once more.
      sum.own += 1 + maxTreeJobs * [each.own, ...each.below].reduce((total, level) => total + level);
      return;
    }
    let cost = field?.extensions.complexity as FieldCost | ((args: unknown, ...rest: unknown[]) => FieldCost);
    if (typeof cost === 'function') {
      this.#variables ??= this.#coerce().coerced;
      if (this.#variables === undefined) throw new Error('The variables are wrong.');
      const info = {
        schema: this.#schema,
        fragments: Object.fromEntries(this.#fragments),
        variableValues: this.#variables,
      };
      cost = cost(getMappedArgumentValues(field as never, node, this.#context, info), this.#context, field);
    }
    const { field: own = 1, multiplier = 1 } = typeof cost === 'number' ? { field: cost } : (cost ?? {});
    sum.own += own + (each === undefined ? 0 : inAll(each) * Math.max(multiplier, 0));
  }
}

function add(sum: Cost, more: Cost): void {
  sum.own += more.own;
  for (const [level, values] of more.below.entries()) sum.below[level] = (sum.below[level] ?? 0) + values;
}
