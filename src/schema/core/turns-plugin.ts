/** Completes the later entries of a long list in later turns of the event loop, if the whole operation or this list is expensive. */
import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
import {
  type FieldNode,
  type GraphQLFieldResolver,
  type GraphQLResolveInfo,
  Kind,
  locatedError,
  responsePathAsArray,
} from 'graphql';
import { FairSemaphore } from '../../concurrency/fair-semaphore.ts';
import { largeBytes, largeTurn } from '../../concurrency/large-turns.ts';
import type { Services } from './services.ts';

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      turns: TurnsPlugin<Types>;
    }
  }
}

export const turnsPlugin = 'turns' as const;

/** So many values are completed within milliseconds, and take about a megabyte. */
export const valuesOfTurn = 20_000;
/** Few enough to be completed at once, whatever is selected of them; and loaders read at least so many together. */
const leastOfTurn = 100;

class TurnsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override wrapResolve(
    resolver: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { type }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    if (type.kind !== 'List' || type.type.kind === 'Scalar' || type.type.kind === 'Enum') return resolver;
    return (parent, args, context, info) => {
      const list: unknown = resolver(parent, args, context, info);
      return list instanceof Promise
        ? list.then((entries) => inTurns(entries, info, context))
        : inTurns(list, info, context);
    };
  }
}

/** How many lists are made at a time: what others hold of theirs meanwhile is what was read. */
const lists = new FairSemaphore(2);

function inTurns(entries: unknown, info: GraphQLResolveInfo, context: object): unknown {
  if (!Array.isArray(entries) || entries.length <= leastOfTurn) return entries;
  const { turns: least = 1, engine } = context as Services;
  const turns = Math.max(least, Math.ceil((entries.length * valuesOf(info)) / valuesOfTurn));
  if (turns === 1) return entries;
  const ofTurn = Math.max(leastOfTurn, Math.ceil(entries.length / turns));
  const starts: { begin: () => void; fail: (error: unknown) => void }[] = [];
  const begun = Array.from(
    { length: Math.ceil(entries.length / ofTurn) },
    () => new Promise<void>((begin, fail) => starts.push({ begin, fail })),
  );
  const all = lists.run(engine, async () => {
    for (const { begin } of starts) {
      await largeTurn(largeBytes, engine);
      begin();
    }
  });
  // Nobody waits for it any more. The list fails, with one error: to make one for each entry, with its stack, would take longer than the list.
  all.catch((error: unknown) => {
    const ofList = locatedError(error, info.fieldNodes, responsePathAsArray(info.path));
    for (const { fail } of starts) fail(ofList);
  });
  return entries.map((entry, i) => begun[Math.floor(i / ofTurn)]?.then(() => entry));
}

/** Operations are parsed once and executed often. */
const known = new WeakMap<FieldNode, number>();

/** How many values are selected of an entry. There are not many: operations are limited, with fragments counted wherever they are spread. */
function valuesOf({ fieldNodes, fragments }: GraphQLResolveInfo): number {
  const valuesIn = (selected: FieldNode['selectionSet']): number =>
    (selected?.selections ?? []).reduce((sum, selection) => {
      const isSpread = selection.kind === Kind.FRAGMENT_SPREAD;
      const part = isSpread ? fragments[selection.name.value] : selection;
      return sum + Number(selection.kind === Kind.FIELD) + valuesIn(part?.selectionSet);
    }, 0);
  let sum = 0;
  for (const node of fieldNodes) {
    if (!known.has(node)) known.set(node, valuesIn(node.selectionSet));
    sum += known.get(node) as number;
  }
  return sum;
}

SchemaBuilder.registerPlugin(turnsPlugin, TurnsPlugin);
