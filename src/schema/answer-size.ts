/**
 * How large an answer may be. Payloads, results, failures and logs are what makes one large, so those of a page are measured in
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
import { type ItemKey, itemIdOf } from '../domain/item-state.ts';
import { type ItemParts, readItemSizes } from '../domain/items.ts';
import { JsonText } from '../domain/json-text.ts';
import { maxClaimBytes } from '../domain/limits.ts';
import { limitExceeded } from './limit-exceeded.ts';
import type { Services } from './services.ts';

/** What an operation has taken of the limit so far. */
const taken = createContextCache((_: Services) => ({
  bytes: 0,
  /** The parts of items that pages have counted, as `payload <id>`. */
  parts: new Set<string>(),
  /** More was asked for than fits, where no page could say so: the answer as a whole is refused. */
  isOverflown: false,
}));

/** What was measured of an answer, in bytes. */
export function measured(context: Services): { readonly bytes: number; readonly isOverflown: boolean } {
  return taken(context);
}

/** Counts what is about to be read, or shown once more; false if it does not fit, and then it is not to be read. */
export function takes(bytes: number, context: Services): boolean {
  const answer = taken(context);
  answer.bytes += bytes;
  if (answer.bytes > context.maxAnswerBytes) answer.isOverflown = true;
  return !answer.isOverflown;
}

/** Counts a part of items that may not have been reached by a page; false if it does not fit. */
export async function takesPart(
  items: readonly ItemKey[],
  part: keyof ItemParts,
  context: Services,
): Promise<boolean> {
  const answer = taken(context);
  const others = items.filter((item) => !answer.parts.has(`${part} ${itemIdOf(item)}`));
  if (others.length === 0 || answer.isOverflown) return !answer.isOverflown;
  const sizes = await readItemSizes(context.engine.database, others, { ...none, [part]: 1 });
  return takes(
    sizes.reduce((sum, size) => sum + size, 0),
    context,
  );
}

const none: ItemParts = { payload: 0, result: 0, failures: 0, log: 0 };

/**
 * Refuses what is selected of these items if it is too large for the answer. One item alone is never too large, or there
 * would be no way to see it. Gives how many bytes each has; nothing if nothing of them is large.
 */
export async function checkAnswerSize(
  items: readonly ItemKey[],
  context: Services,
  info: GraphQLResolveInfo,
): Promise<readonly number[]> {
  const parts = selectedParts(info);
  if (items.length === 0 || Object.values(parts).every((times) => times === 0)) return [];
  const sizes = await readItemSizes(context.engine.database, items, parts);
  const answer = taken(context);
  for (const part of ['payload', 'result', 'failures', 'log'] as const) {
    if (parts[part] > 0) for (const item of items) answer.parts.add(`${part} ${itemIdOf(item)}`);
  }
  const before = answer.bytes;
  let fits = 0;
  for (const size of sizes) {
    answer.bytes += size;
    if (answer.bytes <= context.maxAnswerBytes) fits++;
  }
  if (before === 0) fits = Math.max(fits, 1);
  if (fits >= sizes.length) {
    context.announce?.(answer.bytes - before);
    return sizes;
  }
  const bytes = (answer.bytes - before).toLocaleString('en');
  const others = before === 0 ? '' : `, beside ${before.toLocaleString('en')} of others`;
  throw limitExceeded(
    'bytes',
    `The payloads, results, failures and logs of these ${sizes.length.toLocaleString('en')} items have ${bytes} bytes${others}; ask for fewer with \`first\`: the first ${fits.toLocaleString('en')} fit`,
    context.maxAnswerBytes,
  );
}

/**
 * Refuses a claim whose answer could not be given: beside what the operation has claimed already, or since it wants payloads
 * several times. It must be known before anything is claimed.
 */
export function checkClaim(limit: number, context: Services, info: GraphQLResolveInfo): void {
  const { bytes } = taken(context);
  const { payload } = selectedParts(info);
  const most = Math.min(maxClaimBytes, limit * context.engine.limits.maxJsonBytes);
  if (bytes <= context.maxAnswerBytes && (payload < 2 || payload * most <= context.maxAnswerBytes)) return;
  throw limitExceeded(
    'bytes',
    'The payloads of the claim could be too large for the answer; claim fewer items, and ask for their payloads once',
    context.maxAnswerBytes,
  );
}

/** Counts the payloads of a claim, for others of the same operation; most operations have one. */
export function countClaimed(
  assignments: readonly { readonly payload: unknown }[],
  context: Services,
  info: GraphQLResolveInfo,
): void {
  if (info.operation.selectionSet.selections.length === 1) return;
  taken(context).bytes += textLength(
    assignments.map(({ payload }) => payload),
    maxClaimBytes,
  );
}

/** The length of all names and texts in a value; beyond `most` it stops counting. */
export function textLength(value: unknown, most: number): number {
  let length = 0;
  function visit(part: unknown): void {
    if (typeof part === 'string') {
      length += part.length;
    } else if (part instanceof JsonText) {
      length += part.text.length;
    } else if (Array.isArray(part)) {
      for (const element of part) {
        if (length > most) return;
        visit(element);
      }
    } else if (typeof part === 'object' && part !== null) {
      for (const key in part) {
        if (length > most) return;
        length += key.length;
        visit((part as Record<string, unknown>)[key]);
      }
    }
  }
  visit(value);
  return length;
}

/** Fields that lead to the same items, or to nothing that is large. */
const ways = new Set(['nodes', 'edges', 'node', 'item', 'assignment', 'assignments']);

/** How many times the answer has each part of an item: under aliases a part can be in it more than once. */
function selectedParts(info: GraphQLResolveInfo): ItemParts {
  const found = {
    payload: new Set<string>(),
    result: new Set<string>(),
    failures: new Set<string>(),
    log: new Set<string>(),
  };

  function visitField(field: FieldNode, path: string): void {
    const name = field.name.value;
    const key = `${path}.${field.alias?.value ?? name}`;
    if (name === 'payload' || name === 'result' || name === 'log') found[name].add(key);
    else if (name === 'failures') found.failures.add(`${key}.message`);
    // It is what makes failures large.
    else if (name === 'message') found.failures.add(key);
    // An assignment is read with the payload.
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
    log: found.log.size,
  };
}
