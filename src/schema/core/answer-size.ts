/**
 * Limits the size of an answer. Payloads, results, failures and logs make answers large, so those of a page are measured in
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
import { type ItemParts, readItemSizes } from '../../domain/items/item-sizes.ts';
import { type ItemKey, itemIdOf } from '../../domain/values/ids.ts';
import { JsonText } from '../../domain/values/json-text.ts';
import { maxClaimBytes } from '../../domain/values/limits.ts';
import { limitExceeded } from './limit-exceeded.ts';
import type { Services } from './services.ts';

/** How much of the limit an operation has used so far. */
const taken = createContextCache((_: Services) => ({
  bytes: 0,
  /** The parts of items that pages have counted, as `payload <id>`. */
  parts: new Set<string>(),
  /** More was requested than fits, where no page could report it: the whole answer is refused. */
  isOverflown: false,
}));

/** How many bytes of an answer were measured. */
export function measured(context: Services): { readonly bytes: number; readonly isOverflown: boolean } {
  return taken(context);
}

/** Counts data before it is read, or shown again. Returns false if it does not fit, and then it must not be read. */
export function takes(bytes: number, context: Services): boolean {
  const answer = taken(context);
  answer.bytes += bytes;
  if (answer.bytes > context.maxAnswerBytes) answer.isOverflown = true;
  return !answer.isOverflown;
}

/** Counts a part of items, unless a page has counted it already. Returns false if it does not fit. */
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

const none: ItemParts = { payload: 0, result: 0, failures: 0, lastFailure: 0, stacks: 0, log: 0 };

/**
 * Refuses the selected parts of these items if they are too large for the answer. A single item is never too large, since there
 * would be no way to see it. Returns the size of each item in bytes; nothing if no large parts are selected.
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
  for (const part of Object.keys(none) as (keyof ItemParts)[]) {
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
 * Refuses a claim whose answer might be too large, because of what the operation has claimed already, or because it requests
 * payloads several times. This must be known before anything is claimed.
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

/** Counts the payloads of a claim for other claims in the same operation; most operations have only one. */
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

/** The total length of all names and texts in a value; it stops counting beyond `most`. */
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

/** Fields that lead to the same items, or contain nothing large. */
const ways = new Set(['nodes', 'edges', 'node', 'item', 'assignment', 'assignments']);

/** The fields with messages. */
type Failing = 'failures' | 'lastFailure';

/** How often the answer contains each part of an item; with aliases, it may be more than once. */
function selectedParts(info: GraphQLResolveInfo): ItemParts {
  const found = {
    payload: new Set<string>(),
    result: new Set<string>(),
    failures: new Set<string>(),
    lastFailure: new Set<string>(),
    stacks: new Set<string>(),
    log: new Set<string>(),
  };

  function visitField(field: FieldNode, path: string, above: Failing): void {
    const name = field.name.value;
    const key = `${path}.${field.alias?.value ?? name}`;
    const isFailing = name === 'failures' || name === 'lastFailure';
    if (name === 'payload' || name === 'result' || name === 'log') found[name].add(key);
    else if (isFailing) found[name].add(`${key}.message`);
    // Apart from stacks, messages make failures large.
    else if (name === 'message') found[above].add(key);
    else if (name === 'stack') found.stacks.add(key);
    // Reading an assignment includes its payload.
    if (name === 'assignment') found.payload.add(`${key}.payload`);
    if (field.selectionSet !== undefined && (ways.has(name) || isFailing))
      visit(field.selectionSet, key, isFailing ? name : above);
  }

  function visit({ selections }: SelectionSetNode, path: string, above: Failing = 'failures'): void {
    for (const selection of selections) {
      if (isLeftOut(selection)) continue;
      if (selection.kind === Kind.FIELD) visitField(selection, path, above);
      else if (selection.kind === Kind.INLINE_FRAGMENT) visit(selection.selectionSet, path, above);
      else {
        const fragment = info.fragments[selection.name.value];
        if (fragment !== undefined) visit(fragment.selectionSet, path, above);
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
    lastFailure: found.lastFailure.size,
    stacks: found.stacks.size,
    log: found.log.size,
  };
}
