/** Part of the client: the calls of workers that you write yourself. */
import type { HeartbeatStatus, ReleaseStatus } from '../generated/operations.ts';
import * as operations from '../generated/operations.ts';
import { newClaimId } from './claim-id.ts';
import type { Document } from './document.ts';
import { payloadOf } from './errors.ts';
import { reportInBatches } from './report-outcomes.ts';
import type { Assignment, AssignmentAnswer, CallOptions, Report, ReportAnswer } from './types.ts';

/** What `Client` has of them. */
export abstract class WorkCalls {
  protected abstract send<R, V>(
    document: Document<R, V>,
    variables: V,
    options: CallOptions,
    repeatable: boolean,
    known?: object,
  ): Promise<R>;

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
   * @throws JobtreeError INVALID_INPUT for an empty list
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
