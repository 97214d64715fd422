/** jobtree-client: what producers and workers in TypeScript use. */
export type {
  AddStatus,
  AuditFilter,
  CallbackDeliveryFilter,
  CallbackTrigger,
  CancelReason,
  ErrorCode,
  FeedSource,
  HeartbeatStatus,
  ItemStatus,
  JobFilter,
  JobOrder,
  JobOutcome,
  JobStatus,
  MissedPolicy,
  NotClaimableReason,
  NotUpdatableReason,
  OverlapPolicy,
  ReleaseStatus,
  ReportStatus,
  Sees,
  SerializeOnFailure,
} from '../generated/operations.ts';
export type { AddedItem, AddItemsResult, AddOptions, Items } from './add-items.ts';
export type { CallbackDelivery, CallbackEndpoint, Callbacks } from './callbacks.ts';
export { type AuditEntry, Client, createClient } from './client.ts';
export type { CreateJobsAnswer } from './create-jobs.ts';
export type { Token } from './credentials.ts';
export type {
  DeadLetterDigestEntry,
  DeadLetterFilter,
  DeadLetterGroup,
  DeadLetterGroupWithItems,
} from './dead-letters.ts';
export {
  type DefinedSchemas,
  type DefinedType,
  defineType,
  type TypedItem,
  type TypedJobSpec,
} from './define-type.ts';
export type { Enqueued, EnqueueOptions } from './enqueue.ts';
export {
  type AbortCode,
  AssignmentEndedError,
  type ClientErrorCode,
  JobtreeError,
  PermanentError,
  RetryAfterError,
  SnoozeError,
} from './errors.ts';
export type { ItemSearch, PendingItemFilter, SearchOptions } from './items.ts';
export type { CallbackSpec, FeedSpec, FileSpec, ItemSpec, JobPolicies, JobSpec } from './job-spec.ts';
export type { FinishedJob, JobWithChildren, Tree, TreeRetention } from './jobs.ts';
export type { ClientOptions } from './options.ts';
export type { Result } from './page.ts';
export type { Queue, QueueFigures, QueueSettings, Queues } from './queues.ts';
export type { ExportOptions, ResultLines } from './results.ts';
export type { Schedule, ScheduleSpec, Schedules } from './schedules.ts';
export type { InputOf, StandardSchema } from './standard-schema.ts';
export type { TypeSchema, TypeSchemaSpec, TypeSchemas } from './type-schemas.ts';
export type {
  Assignment,
  CallOptions,
  Item,
  ItemChanges,
  Job,
  JobProgress,
  JobTreeProgress,
  Operation,
  Page,
  PageOptions,
  Report,
  ReportAnswer,
  Standstill,
  WatchOptions,
} from './types.ts';
export type { Upload, UploadOptions, UploadSource } from './upload.ts';
export { type CallbackMessage, verifyCallback } from './verify-callback.ts';
export { type WatchJobOptions, watchJob } from './watch-job.ts';
export type { AssignmentAnswer, ConnectedWorker, HeldItem, SerializeKey } from './work.ts';
export type { ReportedFailure, WorkerEvents } from './worker/events.ts';
export type {
  BatchHandler,
  BatchItem,
  BatchResults,
  Handler,
  HandlerContext,
  Logger,
} from './worker/handler.ts';
export type {
  BatchOptions,
  HandlerCall,
  HandlerOptions,
  Middleware,
  TypeOptions,
  WorkerOptions,
} from './worker/options.ts';
export { Worker } from './worker/worker.ts';
