/**
 * How large an answer may be. Payloads, results and failures are what makes one large, so those of a page are measured in
 * Postgres before they are read; all pages of an operation count together.
 */
import { createContextCache } from '@pothos/core';
import {
  type FieldNode,
  GraphQLIncludeDirective,
  type GraphQLResolveInfo,
  GraphQLSkipDirective,
  getDirectiveValues,
  Kind,
  type SelectionSetNode,
} from 'graphql';
import type { ItemKey } from '../domain/item-state.ts';
import { type ItemParts, readItemSizes } from '../domain/items.ts';
import type { Services } from './builder.ts';
import { limitExceeded } from './limit-exceeded.ts';

/** What the pages of an operation have taken of the limit so far. */
const taken = createContextCache((_: Services) => ({ bytes: 0 }));

/**
 * Refuses what is selected of these items if it is too large for the answer. One item alone is never too large, or there
 * would be no way to see it. Gives how many bytes it has.
 */
export async function checkAnswerSize(
  items: readonly ItemKey[],
  context: Services,
  info: GraphQLResolveInfo,
): Promise<number> {
  const parts = selectedParts(info);
  if (items.length === 0 || Object.values(parts).every((times) => times === 0)) return 0;
  const sizes = await readItemSizes(context.engine.database, items, parts);
  const answer = taken(context);
  const before = answer.bytes;
  let fits = 0;
  for (const size of sizes) {
    answer.bytes += size;
    if (answer.bytes <= context.maxAnswerBytes) fits++;
  }
  if (before === 0) fits = Math.max(fits, 1);
  if (fits === sizes.length) return answer.bytes - before;
  const bytes = (answer.bytes - before).toLocaleString('en');
  const others = before === 0 ? '' : `, beside ${before.toLocaleString('en')} of others`;
  throw limitExceeded(
    'bytes',
    `The payloads, results and failures of these ${sizes.length.toLocaleString('en')} items have ${bytes} bytes${others}; ask for fewer with \`first\`: the first ${fits.toLocaleString('en')} fit`,
    context.maxAnswerBytes,
  );
}

/** Fields that lead to the same items, or to nothing that is large. */
const ways = new Set(['nodes', 'edges', 'node', 'item', 'assignment']);

/** How many times the answer has each part of an item: under aliases a part can be in it more than once. */
function selectedParts(info: GraphQLResolveInfo): ItemParts {
  const found = { payload: new Set<string>(), result: new Set<string>(), failures: new Set<string>() };

  function visitField(field: FieldNode, path: string): void {
    const name = field.name.value;
    const key = `${path}.${field.alias?.value ?? name}`;
    if (name === 'payload' || name === 'result') found[name].add(key);
    else if (name === 'failures') found.failures.add(`${key}.message`);
    // It is what makes failures large.
    else if (name === 'message') found.failures.add(key);
    // A hold is read with the payload.
    if (name === 'assignment') found.payload.add(`${key}.payload`);
    if (field.selectionSet !== undefined && (ways.has(name) || name === 'failures'))
      visit(field.selectionSet, key);
  }

  function visit({ selections }: SelectionSetNode, path: string): void {
    for (const selection of selections) {
      if (isLeftOut(selection)) continue;
      if (selection.kind === Kind.FIELD) visitField(selection, path);
      else if (selection.kind === Kind.INLINE_FRAGMENT) visit(selection.selectionSet, path);
      else {
        const fragment = info.fragments[selection.name.value];
        if (fragment !== undefined) visit(fragment.selectionSet, path);
      }
    }
  }

  function isLeftOut(selection: SelectionSetNode['selections'][number]): boolean {
    const { variableValues } = info;
    return (
      getDirectiveValues(GraphQLSkipDirective, selection, variableValues)?.if === true ||
      getDirectiveValues(GraphQLIncludeDirective, selection, variableValues)?.if === false
    );
  }

  for (const { selectionSet } of info.fieldNodes) if (selectionSet !== undefined) visit(selectionSet, '');
  return {
    payload: found.payload.size,
    result: found.result.size,
    failures: found.failures.size,
  };
}
