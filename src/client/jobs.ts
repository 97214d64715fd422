/** Part of the client: trees of jobs. */
import type {
  JobFilter,
  JobOrder,
  JobOutcome,
  JobQuery,
  Sees,
  TreeFieldsFragment,
} from '../generated/operations.ts';
import * as operations from '../generated/operations.ts';
import { createJob } from './create-job.ts';
import { type CreateJobsAnswer, createJobs } from './create-jobs.ts';
import { answerOf, JobtreeError, payloadOf } from './errors.ts';
import { found } from './found.ts';
import { ItemCalls } from './items.ts';
import type { JobSpec } from './job-spec.ts';
import { MergedCreations } from './merged-creations.ts';
import { callOptions, pageOptions, refuseUnknown } from './options.ts';
import { toPage } from './page.ts';
import type { CallOptions, Job, JobTreeProgress, Operation, Page, PageOptions, Standstill } from './types.ts';

/** The root of a tree, with the progress of the tree. */
export type Tree = Job & { readonly treeProgress?: TreeFieldsFragment | null };

/**
 * A job, the ids of its child jobs and of the jobs that it waits for, the callbacks of its tree, how far the import of its file
 * is, if it has one, and how far the deletion of its tree is, if it is being deleted.
 */
export type JobWithChildren = NonNullable<JobQuery['job']>;

/** How long a tree is kept. What is left out stays as it is. */
export interface TreeRetention {
  /** How long it is kept once it is complete, in seconds: 0 to 315,576,000 (ten years); null for ever. */
  readonly retentionSeconds?: number | null | undefined;
  /** After how long it is cancelled if it is idle, in seconds: 1 to 315,576,000 (ten years); null for never. */
  readonly idleExpirySeconds?: number | null | undefined;
}

/** A complete tree. */
export interface FinishedJob {
  /** The root's id. */
  readonly id: string;
  /** Whether it was created; false if a job with its dedupe key existed. */
  readonly created: boolean;
  /** The outcome of the tree: the worst outcome of its jobs. */
  readonly outcome: JobOutcome;
  readonly progress: JobTreeProgress;
}

const jobCountOptions = { ...callOptions, filter: true };
const jobsOptions = { ...pageOptions, filter: true, order: true };
const watchTokenOptions = { ...callOptions, expiresInSeconds: true, sees: true };

/** What `Client` has of them. */
export abstract class JobCalls extends ItemCalls {
  readonly #creations = new MergedCreations((...call) => this.send(...call));

  /**
   * Creates a whole tree of jobs with its first items: all of it, or nothing. The root can have any number of items: more than 1,000
   * (or 4 MB) go out in several requests, and the job is sealed after the last one. Then items without a dedupe key get one, their
   * place in the list, so that the same call continues after an error or a crash if the job has a `dedupeKey`.
   *
   * @returns the root's id; `created` is false if a job with its dedupe key existed
   * @throws JobtreeError INVALID_INPUT, with the path to what is wrong
   */
  async createJob(job: JobSpec, options: CallOptions = {}): Promise<{ id: string; created: boolean }> {
    refuseUnknown(options, callOptions);
    return createJob(this.send, job, options, this.#creations);
  }

  /**
   * Creates many trees of jobs, each as `createJob` does, in as few requests as they fit into. Each is answered on its own: a refused job
   * does not affect the others. This takes a fraction of the time of single calls.
   *
   *     const answers = await client.createJobs(mails.map((mail) => ({ type: 'mail', sealed: true, items: [{ payload: mail }] })));
   *
   * @returns an answer for each job, in order: its root's `id` and whether it was `created`, or an `error`, whose `outcome` is `UNKNOWN` if
   *   the job may have been created. If all have a `dedupeKey`, the same call can be repeated
   * @throws JobtreeError if the first request fails, such as FORBIDDEN or UNREACHABLE
   */
  async createJobs(jobs: readonly JobSpec[], options: CallOptions = {}): Promise<CreateJobsAnswer[]> {
    refuseUnknown(options, callOptions);
    return createJobs(this.send, jobs, options);
  }

  /**
   * Cancels a job and everything below it; what is finished stays. Returns once no worker can get any of its items. The rest of a
   * large job is cancelled in the background, and its progress shows how far that is. Cancelling twice changes nothing.
   *
   * @throws JobtreeError NOT_FOUND
   */
  async cancelJob(jobId: string, options: CallOptions = {}): Promise<void> {
    payloadOf((await this.send(operations.CancelJob, { input: { jobId } }, options, true)).cancelJob);
  }

  /**
   * Cancels all trees that match a filter and are not complete, as `cancelJob` cancels one. At least one condition must be set; they are
   * those of whole trees, as with `wholeTrees`. Trees that are created meanwhile are left alone. Whatever takes longer than about half a
   * second continues in the background: `operation` says how far it is, and `total` and `done` count trees.
   *
   * @throws JobtreeError INVALID_INPUT
   */
  async cancelTrees(filter: JobFilter, options: CallOptions = {}): Promise<Operation> {
    const data = await this.send(operations.CancelTrees, { input: { filter } }, options, false);
    return payloadOf(data.cancelTrees).operation;
  }

  /**
   * Deletes a whole tree, by its root; work in progress is cancelled.
   *
   * @returns `deleted` is false while the server is still deleting: a large tree is deleted in the background, and `job` says
   *   under `deletion` how far that is, until it throws NOT_FOUND
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT for a job that is not a root
   */
  async deleteJob(jobId: string, options: CallOptions = {}): Promise<{ deleted: boolean }> {
    const data = await this.send(operations.DeleteJob, { input: { jobId } }, options, false);
    return { deleted: payloadOf(data.deleteJob).deleted };
  }

  /**
   * Deletes all trees that match a filter, as `deleteJob` deletes one, and in the way of `cancelTrees`. A tree counts as done when its
   * deletion has begun; small complete ones are gone by then.
   *
   * @throws JobtreeError INVALID_INPUT
   */
  async deleteTrees(filter: JobFilter, options: CallOptions = {}): Promise<Operation> {
    const data = await this.send(operations.DeleteTrees, { input: { filter } }, options, false);
    return payloadOf(data.deleteTrees).operation;
  }

  /**
   * Changes how long a tree is kept, by its root; what is left out stays as it is. The retention of a complete tree counts from
   * its completion, so it may be over at once.
   *
   * @throws JobtreeError NOT_FOUND, also for a tree that is being deleted; INVALID_INPUT, also for a job that is not a root
   */
  async setRetention(jobId: string, retention: TreeRetention, options: CallOptions = {}): Promise<Job> {
    const input = { ...retention, jobId };
    return payloadOf((await this.send(operations.SetRetention, { input }, options, true)).setRetention).job;
  }

  /**
   * Creates a watch token. An application gives it to its own users, whose browsers can then follow one tree and do nothing else.
   *
   * @param jobId the root of the tree
   * @param options `sees`: PROGRESS, also ITEMS, or also RESULTS; default: PROGRESS. `expiresInSeconds`: how long the token is
   *   valid, 10 to 86,400; default: 900
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT, also for a job that is not a root
   */
  async createWatchToken(
    jobId: string,
    options: CallOptions & {
      readonly expiresInSeconds?: number | undefined;
      readonly sees?: Sees | undefined;
    } = {},
  ): Promise<{ token: string; expiresAt: string }> {
    const { expiresInSeconds, sees = 'PROGRESS' } = options;
    const input = { jobId, sees, ...(expiresInSeconds !== undefined && { expiresInSeconds }) };
    const data = await this.send(operations.CreateWatchToken, { input }, options, true, watchTokenOptions);
    const { token, expiresAt } = payloadOf(data.createWatchToken);
    return { token, expiresAt };
  }

  /**
   * Revokes all watch tokens of a tree that were created until now: within five seconds they end, with the sockets and streams
   * that use them.
   *
   * @param jobId the root of the tree
   * @returns tokens created up to `revokedAt` are revoked
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT, also for a job that is not a root
   */
  async revokeWatchTokens(jobId: string, options: CallOptions = {}): Promise<{ revokedAt: string }> {
    const data = await this.send(operations.RevokeWatchTokens, { input: { jobId } }, options, true);
    return { revokedAt: payloadOf(data.revokeWatchTokens).revokedAt };
  }

  /** @throws JobtreeError NOT_FOUND */
  async job(id: string, options: CallOptions = {}): Promise<JobWithChildren> {
    const data = await this.send(operations.Job, { id }, options, true);
    return found(data.job, id);
  }

  /** The job of a type with this dedupe key; null if there is none, or none any more. */
  async jobByDedupeKey(type: string, dedupeKey: string, options: CallOptions = {}): Promise<Job | null> {
    const data = await this.send(operations.JobByDedupeKey, { type, dedupeKey }, options, true);
    return data.jobByDedupeKey ?? null;
  }

  /**
   * Counts jobs, by default the roots of trees.
   *
   * @param options `filter`: which; with `wholeTrees`, its conditions are those of whole trees
   * @returns how many there are; with `since`, there were too many to look at, and those that were created from then on were counted
   */
  async jobCount(
    options: CallOptions & { readonly filter?: JobFilter } = {},
  ): Promise<{ readonly count: number; readonly since?: string | null }> {
    const { filter } = options;
    return answerOf(
      (await this.send(operations.JobCount, { filter }, options, true, jobCountOptions)).jobCount,
    );
  }

  /**
   * Lists jobs, by default the roots of trees, the newest first. A page of more than 900 is refused with LIMIT_EXCEEDED, unless the server
   * allows more.
   */
  async jobs(
    options: PageOptions & { readonly filter?: JobFilter; readonly order?: JobOrder } = {},
  ): Promise<Page<Job>> {
    const { first, after, filter, order } = options;
    const data = await this.send(
      operations.Jobs,
      { first, after, filter, order },
      options,
      true,
      jobsOptions,
    );
    return toPage(answerOf(data.jobs));
  }

  /**
   * Lists the roots of trees as `jobs` does, each with the progress of its whole tree: null for callers whose scope does not include
   * all of it. `status` and `outcome` of the filter are those of whole trees, unless it says otherwise. A page of more than 200 is
   * refused with LIMIT_EXCEEDED, unless the server allows more.
   */
  async trees(
    options: PageOptions & {
      readonly filter?: Omit<JobFilter, 'rootsOnly'>;
      readonly order?: JobOrder;
    } = {},
  ): Promise<Page<Tree>> {
    const { first, after, order } = options;
    const filter = { wholeTrees: true, ...options.filter };
    const data = await this.send(
      operations.JobsWithTrees,
      { first, after, filter, order },
      options,
      true,
      jobsOptions,
    );
    return toPage(answerOf(data.jobs));
  }

  /**
   * Why an item or a job is not running, and for the root of a tree the whole tree: what most needs somebody first. Empty while it runs. For a type:
   * `queues.standstills()`.
   *
   * @throws JobtreeError NOT_FOUND
   */
  async standstills(id: string, options: CallOptions = {}): Promise<Standstill[]> {
    const node = found((await this.send(operations.Standstills, { id }, options, true)).node, id);
    if ('standstills' in node) return node.standstills;
    if (!('ofJob' in node)) throw new JobtreeError('NOT_FOUND', `There is no job or item ${id}.`);
    return (node.parent == null ? node.ofTree : null) ?? node.ofJob;
  }
}
