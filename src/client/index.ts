/** jobtree/client: what producers and workers in TypeScript use. */
export type {
  AddStatus,
  ErrorCode,
  FeedSource,
  HoldStatus,
  ItemStatus,
  JobFilter,
  JobOrder,
  JobStatus,
  NotClaimableReason,
  ReleaseStatus,
  ReportInput,
  ReportStatus,
} from '../generated/graphql/graphql.ts';
export type { AddedItem, AddItemsResult } from './add-items.ts';
export {
  type Assignment,
  type CallOptions,
  Client,
  type ClientOptions,
  createClient,
  type Item,
  type Job,
  type JobProgress,
  type JobTreeProgress,
  type JobWithChildren,
  type Page,
  type PageOptions,
  type ReportAnswer,
  type Result,
} from './client.ts';
export { type DefinedType, defineType, type TypedItem, type TypedJobSpec } from './define-type.ts';
export {
  type AbortCode,
  type ClientErrorCode,
  HoldEndedError,
  JobtreeError,
  PermanentError,
} from './errors.ts';
export type { FeedSpec, ItemSpec, JobPolicies, JobSpec } from './job-spec.ts';
export type { Handler, HandlerContext } from './worker/handler.ts';
export type { Logger } from './worker/log.ts';
export type { TypeOptions, WorkerOptions } from './worker/options.ts';
export { type ReportedFailure, Worker, type WorkerEvents } from './worker/worker.ts';
