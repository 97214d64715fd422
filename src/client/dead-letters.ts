/** Part of the client: items that failed for good, and operations, such as their replays. */
import type {
  DeadLetterDigestQuery,
  DeadLetterGroupQuery,
  DeadLetterGroupsQuery,
  ReplayDeadLettersMutationVariables,
} from '../generated/operations.ts';
import * as operations from '../generated/operations.ts';
import { answerOf, JobtreeError, payloadOf } from './errors.ts';
import { found } from './found.ts';
import { checkValue } from './job-spec.ts';
import { callOptions } from './options.ts';
import type { CallOptions, Operation } from './types.ts';
import { WorkCalls } from './work.ts';

/** Selects dead letters that match everything that is set; at least one thing must be set. Lists have 1 to 1,000 entries. */
export type DeadLetterFilter = NonNullable<ReplayDeadLettersMutationVariables['input']['filter']>;

/** Items that failed for good in the same way. Times are text in ISO 8601. */
export type DeadLetterGroup = NonNullable<DeadLetterGroupsQuery['deadLetterGroups']>[number];

/** A group with its items, the latest failures first. */
export type DeadLetterGroupWithItems = Extract<
  NonNullable<DeadLetterGroupQuery['node']>,
  { pattern: string }
>;

/** How many items of a group failed for good since a time. */
export type DeadLetterDigestEntry = NonNullable<DeadLetterDigestQuery['deadLetterDigest']>[number];

const groupItemOptions = { ...callOptions, first: true };
const groupOptions = { ...groupItemOptions, types: true };
const deadLetterCountOptions = { ...callOptions, replayable: true };
const replayOptions = { ...callOptions, payload: true, payloadPatch: true };

/** What `Client` has of them. */
export abstract class DeadLetterCalls extends WorkCalls {
  /**
   * Lists items that failed for good, in groups of one type, failure code and pattern of messages, largest group first.
   *
   * @param options `types`: only these. `first`: how many, 1 to 1,000; default: 50
   */
  async deadLetterGroups(
    options: CallOptions & { readonly types?: readonly string[]; readonly first?: number } = {},
  ): Promise<DeadLetterGroup[]> {
    const variables = { types: options.types && [...options.types], first: options.first };
    return answerOf(
      (await this.send(operations.DeadLetterGroups, variables, options, true, groupOptions)).deadLetterGroups,
    );
  }

  /**
   * A group, with its items.
   *
   * @param options `first`: how many items, 1 to 1,000; default: 50
   * @throws JobtreeError NOT_FOUND
   */
  async deadLetterGroup(
    id: string,
    options: CallOptions & { readonly first?: number } = {},
  ): Promise<DeadLetterGroupWithItems> {
    const data = await this.send(
      operations.DeadLetterGroup,
      { id, first: options.first },
      options,
      true,
      groupItemOptions,
    );
    const { node } = data;
    if (node == null)
      throw new JobtreeError('NOT_FOUND', `There are no dead letters in the group ${id}.`, { field: 'id' });
    return found('pattern' in node ? node : null, id) as DeadLetterGroupWithItems;
  }

  /**
   * Groups of items that failed for good since a time, those with the most such items first.
   *
   * @param options `types`: only these. `first`: how many groups, 1 to 1,000; default: 50
   */
  async deadLetterDigest(
    since: Date,
    options: CallOptions & { readonly types?: readonly string[]; readonly first?: number } = {},
  ): Promise<DeadLetterDigestEntry[]> {
    const types = options.types && [...options.types];
    const variables = { since: since.toISOString(), types, first: options.first };
    return answerOf(
      (await this.send(operations.DeadLetterDigest, variables, options, true, groupOptions)).deadLetterDigest,
    );
  }

  /**
   * Counts the dead letters that a replay with this filter would replay.
   *
   * @param options `replayable`: false to count also those that can't be replayed, since their jobs were cancelled; default: true
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT
   */
  async deadLetterCount(
    filter: DeadLetterFilter,
    options: CallOptions & { readonly replayable?: boolean | undefined } = {},
  ): Promise<number> {
    const { replayable = true } = options;
    const data = await this.send(
      operations.DeadLetterCount,
      { filter, replayable },
      options,
      true,
      deadLetterCountOptions,
    );
    return answerOf(data.deadLetterCount);
  }

  /**
   * Replays items that failed for good: they are tried again as if they were new. Whatever takes longer than about half a second
   * continues in the background: `operation` says how far it is.
   *
   * @param options `payload`: a corrected payload, for a filter whose `itemIds` names one item. `payloadPatch`: a JSON merge patch
   *   that corrects the payload of each item; those that it does not suit stay dead letters, and are counted in `skipped`
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT
   */
  async replayDeadLetters(
    filter: DeadLetterFilter,
    options: CallOptions & { readonly payload?: unknown; readonly payloadPatch?: unknown } = {},
  ): Promise<Operation> {
    const { payload, payloadPatch } = options;
    if (payload !== undefined) checkValue(payload, 'payload');
    if (payloadPatch !== undefined) checkValue(payloadPatch, 'payloadPatch');
    const input = {
      filter,
      ...(payload !== undefined && { payload }),
      ...(payloadPatch !== undefined && { payloadPatch }),
    };
    const data = await this.send(operations.ReplayDeadLetters, { input }, options, false, replayOptions);
    return payloadOf(data.replayDeadLetters).operation;
  }

  /**
   * Settles dead letters without trying them again: the items stay failed. Continues in the background as `replayDeadLetters`
   * does.
   *
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT
   */
  async discardDeadLetters(filter: DeadLetterFilter, options: CallOptions = {}): Promise<Operation> {
    const data = await this.send(operations.DiscardDeadLetters, { input: { filter } }, options, true);
    return payloadOf(data.discardDeadLetters).operation;
  }

  /**
   * Stores a note on a group of dead letters, in place of an earlier one; null removes it.
   *
   * @throws JobtreeError NOT_FOUND
   */
  async noteDeadLetters(groupId: string, note: string | null, options: CallOptions = {}): Promise<void> {
    const data = await this.send(operations.NoteDeadLetters, { input: { groupId, note } }, options, true);
    payloadOf(data.noteDeadLetters);
  }

  /** @throws JobtreeError NOT_FOUND */
  async operation(id: string, options: CallOptions = {}): Promise<Operation> {
    const { node } = await this.send(operations.Operation, { id }, options, true);
    return found(node && 'total' in node ? node : null, id) as Operation;
  }

  /**
   * Stops an operation where it is; what it has done stays.
   *
   * @throws JobtreeError NOT_FOUND
   */
  async cancelOperation(operationId: string, options: CallOptions = {}): Promise<Operation> {
    const data = await this.send(operations.CancelOperation, { input: { operationId } }, options, true);
    return payloadOf(data.cancelOperation).operation;
  }
}
