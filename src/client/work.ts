/** Part of the client: the calls of workers that you write yourself, and who works on what. */
import type {
  HeartbeatStatus,
  HeldItemsQuery,
  HeldItemsQueryVariables,
  ReleaseStatus,
  SerializeKeysQuery,
  WorkersQuery,
  WorkersQueryVariables,
} from '../generated/operations.ts';
import * as operations from '../generated/operations.ts';
import { newClaimId } from './claim-id.ts';
import { answerOf, payloadOf } from './errors.ts';
import { callOptions, refuseUnknown, type Send } from './options.ts';
import { reportInBatches } from './report-outcomes.ts';
import type { Assignment, CallOptions, Report, ReportAnswer } from './types.ts';

/** The answer to the heartbeat or release of one assignment. */
export interface AssignmentAnswer<Status> {
  readonly assignmentId: string;
  readonly status: Status;
  /** What is wrong with an invalid id; null otherwise. */
  readonly error: string | null;
}

/** A serialize key in use: the item that holds it, and how many items wait behind that one. */
export type SerializeKey = NonNullable<SerializeKeysQuery['serializeKeys']>[number];
/** An item that a worker holds. */
export type HeldItem = NonNullable<HeldItemsQuery['heldItems']>[number];

/** A worker that is connected to a server, or that holds items. */
export type ConnectedWorker = NonNullable<WorkersQuery['workers']>[number];

const serializeKeyOptions = { ...callOptions, first: true, keys: true, after: true };
const heldItemsOptions = {
  types: true,
  workers: true,
  slowOnly: true,
  first: true,
  after: true,
} satisfies Record<keyof HeldItemsQueryVariables, true>;
const workersOptions = { types: true, first: true, after: true } satisfies Record<
  keyof WorkersQueryVariables,
  true
>;

/** What `Client` has of them. */
export abstract class WorkCalls {
  protected abstract readonly send: Send;

  /**
   * Claims ready items, fewer than asked for if their payloads exceed 32 MB in total. A claim whose answer is lost is sent again
   * and gets the same items; if that fails too (`retryMs`), its items wait until their heartbeats are overdue.
   *
   * @param requests `limit`: 1 to 1,000 over all types
   * @param worker a name, 1 to 200 characters
   * @throws JobtreeError INVALID_INPUT
   */
  async claimItems(
    worker: string,
    requests: readonly { readonly type: string; readonly limit: number }[],
    options: CallOptions = {},
  ): Promise<Assignment[]> {
    const claims = { worker, requests: [...requests], claimId: newClaimId() };
    const data = await this.#exchange({ withClaims: true, claims }, options, true);
    return payloadOf(data.claimItems).assignments as Assignment[];
  }

  /**
   * Claims one item by its id, whatever waits before it.
   *
   * @throws JobtreeError NOT_FOUND, ITEM_NOT_CLAIMABLE with its `reason`
   */
  async claimItem(worker: string, itemId: string, options: CallOptions = {}): Promise<Assignment> {
    const data = await this.send(operations.ClaimItem, { input: { itemId, worker } }, options, false);
    return payloadOf(data.claimItem).assignment as Assignment;
  }

  /**
   * Reports results and failures, each of which is judged on its own. More than fit into one request (1,000, or 4 MB) are sent in several,
   * one after the other; a call that fails half-way can be repeated, and nothing counts twice.
   *
   * @throws JobtreeError INVALID_INPUT for an empty list, or for a result or payload that JSON can't carry: then nothing is sent
   */
  async reportOutcomes(reports: readonly Report[], options: CallOptions = {}): Promise<ReportAnswer[]> {
    return reportInBatches(reports, async (batch) => {
      const data = await this.#exchange({ withReports: true, reports: { reports: batch } }, options, true);
      return data.reportOutcomes;
    });
  }

  /**
   * Keeps 1 to 1,000 assignments alive: the deadline of each moves to three intervals from now.
   *
   * @returns the status of each; stop the work on all that are not HELD
   */
  async heartbeat(
    assignmentIds: readonly string[],
    options: CallOptions = {},
  ): Promise<AssignmentAnswer<HeartbeatStatus>[]> {
    const input = { assignmentIds: [...assignmentIds] };
    const { entries } = payloadOf(
      (await this.send(operations.Heartbeat, { input }, options, true)).heartbeat,
    );
    return toAssignmentAnswers(assignmentIds, entries);
  }

  /** Gives 1 to 1,000 items back unfinished, so that others can claim them at once. It costs no attempt. */
  async releaseAssignments(
    assignmentIds: readonly string[],
    options: CallOptions = {},
  ): Promise<AssignmentAnswer<ReleaseStatus>[]> {
    const releases = { assignmentIds: [...assignmentIds] };
    const data = await this.#exchange({ withReleases: true, releases }, options, true);
    const { entries } = payloadOf(data.releaseAssignments);
    return toAssignmentAnswers(assignmentIds, entries);
  }

  /**
   * The items that workers hold, those held longest first: the first 50, or `first` (1 to 1,000), after the `claimedAt` and `itemId` of the last
   * one before. With `slowOnly`, only items held far longer than is usual for their type.
   */
  async heldItems({ signal, ...filter }: CallOptions & HeldItemsQueryVariables = {}): Promise<HeldItem[]> {
    refuseUnknown(filter, heldItemsOptions);
    return answerOf((await this.send(operations.HeldItems, filter, { signal }, true)).heldItems);
  }

  /** The workers that are connected or hold items, by name: the first 1,000 after `after`. */
  async workers({ signal, ...filter }: CallOptions & WorkersQueryVariables = {}): Promise<ConnectedWorker[]> {
    refuseUnknown(filter, workersOptions);
    return answerOf((await this.send(operations.Workers, filter, { signal }, true)).workers);
  }

  /**
   * The serialize keys with the most items waiting behind their head, longest line first; or those of `keys` that are in use.
   *
   * @param options `first`: how many, 1 to 1,000; default: 50. `after`: the `blocked` and `key` of the last one before; not with `keys`
   */
  async serializeKeys(
    options: CallOptions & {
      readonly first?: number | undefined;
      readonly keys?: readonly string[] | undefined;
      readonly after?: Pick<SerializeKey, 'blocked' | 'key'> | undefined;
    } = {},
  ): Promise<SerializeKey[]> {
    const { first, keys, after } = options;
    const variables = { first, after, keys: keys && [...keys] };
    return answerOf(
      (await this.send(operations.SerializeKeys, variables, options, true, serializeKeyOptions))
        .serializeKeys,
    );
  }

  #exchange(
    part: Partial<operations.ExchangePartsMutationVariables>,
    options: CallOptions,
    repeatable: boolean,
  ) {
    const variables = { withReports: false, withReleases: false, withClaims: false, ...part };
    return this.send(operations.ExchangeParts, variables, options, repeatable);
  }
}

function toAssignmentAnswers<Status>(
  assignmentIds: readonly string[],
  entries: readonly { status: Status; error?: { message: string } | null }[],
): AssignmentAnswer<Status>[] {
  return entries.map(({ status, error }, i) => ({
    assignmentId: assignmentIds[i] ?? '',
    status,
    error: error?.message ?? null,
  }));
}
