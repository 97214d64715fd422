import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
export type Maybe<T> = T | null;
export type InputMaybe<T> = T | null | undefined;
export type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type MakeOptional<T, K extends keyof T> = Omit<T, K> & { [SubKey in K]?: Maybe<T[SubKey]> };
export type MakeMaybe<T, K extends keyof T> = Omit<T, K> & { [SubKey in K]: Maybe<T[SubKey]> };
export type MakeEmpty<T extends { [key: string]: unknown }, K extends keyof T> = { [_ in K]?: never };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
/** All built-in and custom scalars, mapped to their actual values */
export type Scalars = {
  ID: { input: string; output: string; }
  String: { input: string; output: string; }
  Boolean: { input: boolean; output: boolean; }
  Int: { input: number; output: number; }
  Float: { input: number; output: number; }
  /** A whole number from 0 to 2^53 - 1, as a JSON number. */
  Count: { input: number; output: number; }
  /** An instant in ISO 8601 with its offset: `2026-03-01T09:30:00Z`. From 1970 to the end of the year 9999, to the millisecond. */
  DateTime: { input: string; output: string; }
  /** A file that is part of the request, according to the GraphQL multipart request specification: only as a variable, which is null in the request and named by `map`. Such a request needs the header `Apollo-Require-Preflight`. */
  File: { input: never; output: never; }
  /** Any JSON value, including null. It is returned as it was sent, with its keys in order (but keys that are whole numbers come first, as in JavaScript); of several equal keys the last one counts, and numbers keep their values, with all digits. Refused are text with `\u0000` or half a surrogate pair, numbers beyond 1.8e308, and more than 256 levels of lists and objects. */
  JSON: { input: unknown; output: unknown; }
};

/** Which endpoints to call about a tree. */
export type AddCallbacksInput = {
  /** The endpoints to call, beside those that the tree has: 1 to 10. INVALID_INPUT if the tree would have more than 10. For jobs that are complete already, nothing is sent. */
  callbacks: Array<CallbackInput>;
  /** The root of the tree. INVALID_INPUT for another job, and for a tree that is complete, since nothing would be sent. */
  jobId: Scalars['ID']['input'];
};

/** Items for one job. */
export type AddItemsInput = {
  /** The new items: 1 to 1,000. */
  items: Array<ItemInput>;
  /** The job. It must not be sealed, unless a call with `seal` is repeated, whose items it has by their dedupe keys. */
  jobId: Scalars['ID']['input'];
  /** Whether these are the last items: seals the job in the same transaction. Default: false. */
  seal?: Scalars['Boolean']['input'];
  /** The trace that the new items belong to; workers get it with them. INVALID_INPUT if it is not valid. Default: none. */
  traceContext?: InputMaybe<TraceContextInput>;
};

/** What happened to an entry. */
export type AddStatus =
  /** It was added as an item. */
  | 'ADDED'
  /** The job had an item with its dedupe key; nothing was added. */
  | 'DUPLICATE'
  /** It breaks a rule; nothing was added. */
  | 'INVALID';

/** The limits of a key on each server: whole numbers from 1 to 1,000,000,000, for what is stored to 10^15. Those that are omitted are the settings of the servers. */
export type ApiKeyLimitsInput = {
  /** Simultaneous WebSockets and event streams. */
  connections?: InputMaybe<Scalars['Int']['input']>;
  /** The cost of its operations per second, in values that their answers could have. */
  costPerSecond?: InputMaybe<Scalars['Int']['input']>;
  /** Operations per second, over HTTP and WebSocket. */
  requestsPerSecond?: InputMaybe<Scalars['Int']['input']>;
  /** How many bytes of payloads, results and uploads its tenant (or, without a tenant, everyone together) may have stored for the key to add more; the limit of the tenant applies, too. */
  storedBytes?: InputMaybe<Scalars['Count']['input']>;
  /** How many items its tenant (or, without a tenant, everyone together) may have stored for the key to add more; the limit of the tenant applies, too. */
  storedItems?: InputMaybe<Scalars['Count']['input']>;
  /** Simultaneous subscriptions. */
  subscriptions?: InputMaybe<Scalars['Int']['input']>;
};

/** Which entries to list; all conditions must be met. */
export type AuditFilter = {
  /** Only this mutation or command. */
  action?: InputMaybe<Scalars['String']['input']>;
  /** Only actions by callers with this text in their name: a name, or the id of a key. */
  actor?: InputMaybe<Scalars['String']['input']>;
  /** Only actions at this time or later. */
  since?: InputMaybe<Scalars['DateTime']['input']>;
  /** Only entries that have this among their subjects, such as the id of a job. */
  subject?: InputMaybe<Scalars['String']['input']>;
  /** Only actions before this time. */
  until?: InputMaybe<Scalars['DateTime']['input']>;
};

/** Which deliveries to list; all conditions must be met. */
export type CallbackDeliveryFilter = {
  /** Only to the endpoint of this name. */
  endpoint?: InputMaybe<Scalars['String']['input']>;
  /** Only about the tree of this root. */
  rootId?: InputMaybe<Scalars['ID']['input']>;
  /** Only with this status. */
  status?: InputMaybe<CallbackDeliveryStatus>;
};

/** The status of a delivery. */
export type CallbackDeliveryStatus =
  /** The endpoint accepted it. */
  | 'DELIVERED'
  /** It is no longer sent, unless somebody retries it: `retryCallbackDelivery`. */
  | 'FAILED'
  /** It is waiting to be sent, or is being sent. */
  | 'PENDING';

/** What a message to an endpoint is about. */
export type CallbackEvent =
  /** Many items of a type failed for good: `dead_letters.alert`. */
  | 'DEAD_LETTERS'
  /** A job is complete: `job.completed`. */
  | 'JOB'
  /** A tree is complete: `tree.completed`. */
  | 'TREE';

/** An endpoint to call when the tree is complete. After a replay, it is called again when the tree is complete again. */
export type CallbackInput = {
  /** The name of an endpoint: `putCallbackEndpoint`. INVALID_INPUT if it does not exist. */
  endpoint: Scalars['String']['input'];
  /** When to call it. For both, give two callbacks. Default: TREE. */
  on?: CallbackTrigger;
};

/** When a callback is sent. */
export type CallbackTrigger =
  /** When a job of the tree is complete, for each of them. */
  | 'JOB'
  /** When the tree is complete. */
  | 'TREE';

/** What to cancel. */
export type CancelItemsInput = {
  /** Which items. */
  filter: PendingItemFilter;
};

/** Which job to cancel. */
export type CancelJobInput = {
  /** The job. */
  jobId: Scalars['ID']['input'];
};

/** Which operation to cancel. */
export type CancelOperationInput = {
  /** The operation. */
  operationId: Scalars['ID']['input'];
};

/** Why a job was cancelled. */
export type CancelReason =
  /** A job that it waited for (`after`) ended FAILED or CANCELLED. */
  | 'DEPENDENCY'
  /** More of its items failed than it tolerates, or its file could not be read to its end. */
  | 'FAILURES'
  /** Its tree was idle for longer than `idleExpirySeconds`: a job was not sealed, and there was no more work. */
  | 'IDLE'
  /** Somebody cancelled it or a job above it, or deleted its tree. */
  | 'REQUESTED';

/** Which trees. */
export type CancelTreesInput = {
  /** Which trees: at least one condition must be set. They are conditions on whole trees, as with `wholeTrees`; INVALID_INPUT for `rootsOnly: false`. */
  filter: JobFilter;
};

/** Which worker claims which item. */
export type ClaimItemInput = {
  /** The item. */
  itemId: Scalars['ID']['input'];
  /** A name for the worker, 1 to 200 characters. */
  worker: Scalars['String']['input'];
};

/** Which worker claims what. */
export type ClaimItemsInput = {
  /** A UUID of version 7, new for each claim. If the answer is lost, the claim can be sent again: it then returns the assignments of the first time that are not finished, or claims if the first call never arrived. No other worker can use it. Without it the items of a lost answer wait until their heartbeats run out. */
  claimId?: InputMaybe<Scalars['String']['input']>;
  /** The types that the worker handles, and how many items it has room for. */
  requests: Array<ClaimRequestInput>;
  /** How long the claim waits at the server if there is nothing, in milliseconds: 0 to 30,000. Default: 0. It is answered as soon as it gets something, and with an empty list when the time is over, when the server stops, or at once if a caller has 10,000, or the server 20,000, that wait. If the caller leaves, what it was given meanwhile goes back. `exchange` does not wait, since the answers to its reports would wait with it. */
  waitMs?: Scalars['Int']['input'];
  /** A name for the worker, 1 to 200 characters; it appears in failures and shows who holds what. */
  worker: Scalars['String']['input'];
};

/** How many items of a type a worker has room for. */
export type ClaimRequestInput = {
  /** The maximum number of items: 1 to 1,000, over all types of a call. */
  limit: Scalars['Int']['input'];
  /** How many of them the worker starts as soon as it has the answer, in its order: 0 to 1,000. Default: all. The others count as started from the first heartbeat that does not list them in `waitingIds`. If its heartbeats stop, what it has not started goes back without a failed attempt. A worker that sets this tells of items with `lostBefore` before it starts them. */
  starts?: InputMaybe<Scalars['Int']['input']>;
  /** The type: 1 to 200 characters. */
  type: Scalars['String']['input'];
};

/** The rights of a new key. */
export type CreateApiKeyInput = {
  /** When it expires. Default: never. */
  expiresAt?: InputMaybe<Scalars['DateTime']['input']>;
  /** Its own limits. Default: the settings of the servers. */
  limits?: InputMaybe<ApiKeyLimitsInput>;
  /** Its name, for people: 1 to 200 characters. */
  name: Scalars['String']['input'];
  /** Its roles: at least one. */
  roles: Array<Role>;
  /** Only the trees of these roots, up to 100. Not with the role ADMIN. Default: all. */
  rootIds?: InputMaybe<Array<Scalars['ID']['input']>>;
  /** The tenant of its callers: 1 to 40 characters from a to z, 0 to 9 and `-`. An admin of a tenant can only create keys of that tenant; any other is FORBIDDEN. Default: that of the caller. */
  tenant?: InputMaybe<Scalars['String']['input']>;
  /** Only jobs of these types, up to 100: names, or prefixes followed by `*`, which without a tenant does not reach into those of tenants (`docs/tenants.md`). Not with the role ADMIN. Default: all. */
  types?: InputMaybe<Array<Scalars['String']['input']>>;
};

/** A file to store. */
export type CreateUploadInput = {
  /** The file. */
  file: Scalars['File']['input'];
};

/** What a watch token gives access to. */
export type CreateWatchTokenInput = {
  /** How long it is valid, in seconds: 10 to 86,400 (a day). Its holder must get the next one before then. Default: 900. */
  expiresInSeconds?: Scalars['Int']['input'];
  /** The root of the tree. INVALID_INPUT for another job. */
  jobId: Scalars['ID']['input'];
  /** What it can read. */
  sees: Sees;
};

/** Times of the clock and the calendar. */
export type CronInput = {
  /** Five fields for minute, hour, day of month, month and weekday, or six with seconds first: `30 2 * * *`; also @hourly, @daily, @weekly, @monthly, @yearly. Up to 200 characters. One that never comes is refused. */
  expression: Scalars['String']['input'];
  /** The time zone, by its IANA name: `Europe/Berlin`. Default: UTC. */
  timeZone?: Scalars['String']['input'];
};

/** When an endpoint is told of dead letters. */
export type DeadLetterAlertInput = {
  /** How many dead letters within the interval raise the alert: 1 to 10,000. */
  count: Scalars['Int']['input'];
  /** The name of an endpoint: `putCallbackEndpoint`. INVALID_INPUT if it does not exist. */
  endpoint: Scalars['String']['input'];
  /** The interval up to now, in milliseconds: 1,000 to 86,400,000, which is a day. */
  intervalMs: Scalars['Int']['input'];
};

/** Which dead letters: those that meet all conditions; at least one must be set. Lists have 1 to 1,000 entries. */
export type DeadLetterFilter = {
  /** Whose last failure has one of these codes. */
  codes?: InputMaybe<Array<Scalars['String']['input']>>;
  /** With one of these dedupe keys. */
  dedupeKeys?: InputMaybe<Array<Scalars['String']['input']>>;
  /** That failed for good at this time or later. */
  diedFrom?: InputMaybe<Scalars['DateTime']['input']>;
  /** That failed for good before this time. */
  diedUntil?: InputMaybe<Scalars['DateTime']['input']>;
  /** Of one of these groups. */
  groupIds?: InputMaybe<Array<Scalars['ID']['input']>>;
  /** These items. */
  itemIds?: InputMaybe<Array<Scalars['ID']['input']>>;
  /** Items of this job and of all jobs below it. */
  jobId?: InputMaybe<Scalars['ID']['input']>;
  /** Of one of these types. */
  types?: InputMaybe<Array<Scalars['String']['input']>>;
};

/** Which endpoint to delete. */
export type DeleteCallbackEndpointInput = {
  /** The name of the endpoint. */
  name: Scalars['String']['input'];
};

/** The root of the tree to delete. */
export type DeleteJobInput = {
  /** The job. */
  jobId: Scalars['ID']['input'];
};

/** Which schedule to delete. */
export type DeleteScheduleInput = {
  /** The name of the schedule. */
  name: Scalars['String']['input'];
};

/** Which trees. */
export type DeleteTreesInput = {
  /** Which trees: at least one condition must be set. They are conditions on whole trees, as with `wholeTrees`; INVALID_INPUT for `rootsOnly: false`. */
  filter: JobFilter;
};

/** Which version of which type. */
export type DeleteTypeSchemaInput = {
  /** The type: 1 to 200 characters. */
  type: Scalars['String']['input'];
  /** Which version: 1 to 1,000,000. */
  version: Scalars['Int']['input'];
};

/** What to discard. */
export type DiscardDeadLettersInput = {
  /** Which items. */
  filter: DeadLetterFilter;
};

/** One piece of work: a sealed job with a single item. Its fields are those of JobInput and ItemInput. */
export type EnqueueInput = {
  /** The largest share of each backoff that is added to it at random: 0 to 1. Default: that of the queue of its type, else 0.1. */
  backoffJitter?: InputMaybe<Scalars['Float']['input']>;
  /** How long an item waits after its first, second … failure, in milliseconds, each 0 to 2,147,483,647; the last wait repeats, and an empty list means no wait. Up to 100 steps. Default: that of the queue of its type, else 30 s, 5 min, 30 min. */
  backoffMs?: InputMaybe<Array<Scalars['Int']['input']>>;
  /** For the root: the endpoints to call when the tree, or each of its jobs, is complete. Up to 10. Default: none. */
  callbacks?: InputMaybe<Array<CallbackInput>>;
  /** Unique among the jobs of its type, 1 to 500 characters: an existing key returns the existing job, and nothing is created. Default: none. */
  dedupeKey?: InputMaybe<Scalars['String']['input']>;
  /** How often a worker must send a heartbeat, in milliseconds: 1,000 to 86,400,000; silence for three intervals is a failure. Default: that of the queue of its type, else 60,000. */
  heartbeatIntervalMs?: InputMaybe<Scalars['Int']['input']>;
  /** An item that fails more often than this has failed for good: 0 to 1,000. If its worker died with it in the last attempt, it is tried up to three times more, alone, unless this is 0. Default: that of the queue of its type, else 3. */
  maxFailuresPerItem?: InputMaybe<Scalars['Int']['input']>;
  /** The work to do: any JSON, up to 1 MB of text (a setting of the server). Default: null. */
  payload?: InputMaybe<Scalars['JSON']['input']>;
  /** The priority of items without their own: -32,768 to 32,767. Default: that of the queue of its type, else 0. */
  priority?: InputMaybe<Scalars['Int']['input']>;
  /** For the root: how long the tree is kept once it is complete, in seconds: 0 (it is deleted at once) to 315,576,000 (ten years); null for ever. Then it is reaped, that is, deleted with its items and results. Default: the setting of the server, which is 7 days unless it is changed. */
  retentionSeconds?: InputMaybe<Scalars['Int']['input']>;
  /** The `runAt` of items without their own. Default: at once. */
  runAt?: InputMaybe<Scalars['DateTime']['input']>;
  /** Items with the same key run one at a time, in the order in which they were added: 1 to 255 characters. Default: it waits for no other item. */
  serializeKey?: InputMaybe<Scalars['String']['input']>;
  /** What happens to the serialize key of an item that failed for good. Default: CONTINUE. */
  serializeOnFailure?: SerializeOnFailure;
  /** The job fails if more items than this fail for good: 0 to 2,147,483,647. Its pending items are then cancelled, and its outcome is FAILED. Reports that arrive at the same time can exceed the number slightly. With `toleratedFailurePercentage`, the job fails when either limit is exceeded. Default: any number is tolerated. */
  toleratedFailureCount?: InputMaybe<Scalars['Int']['input']>;
  /** The job fails if more than this percentage of its items fail for good, as with `toleratedFailureCount`: 0 to 100. It applies once the job is sealed, since the total is unknown before that. Default: any share is tolerated. */
  toleratedFailurePercentage?: InputMaybe<Scalars['Float']['input']>;
  /** For the root: the trace of the items that are given here; workers get it with them. Default: none. */
  traceContext?: InputMaybe<TraceContextInput>;
  /** The kind of work: the name by which workers claim it. 1 to 200 characters. */
  type: Scalars['String']['input'];
};

/** Why something was refused. Errors outside of results have one of these in `extensions.code`, or a code that concerns a request as a whole; docs/errors.md lists all codes. */
export type ErrorCode =
  /** Another transaction has locked rows that the operation needs. Nothing has changed: try again. */
  | 'BUSY'
  /** Your roles and scopes do not allow it. */
  | 'FORBIDDEN'
  /** The input breaks a rule; `field` says where. */
  | 'INVALID_INPUT'
  /** The item is not waiting for a worker. */
  | 'ITEM_NOT_CLAIMABLE'
  /** A worker holds the item, or it is finished. */
  | 'ITEM_NOT_UPDATABLE'
  /** The job is fed by its parent, whose completion seals it; it can't be sealed by hand. */
  | 'JOB_FED_BY_PARENT'
  /** The job is sealed or cancelled, and accepts no more items. */
  | 'JOB_SEALED'
  /** The object with this id does not exist, or no longer exists. */
  | 'NOT_FOUND'
  /** The connection to Postgres was lost before its answer arrived, so the operation may or may not have been carried out. */
  | 'OUTCOME_UNKNOWN'
  /** The tenant would store more items or bytes than it may. Nothing was done. */
  | 'STORAGE_LIMIT'
  /** The request has no key or token, or one that is unknown, revoked or expired. */
  | 'UNAUTHENTICATED'
  /** The server can't do it now, usually because Postgres does not answer. Nothing has changed: try again. */
  | 'UNAVAILABLE';

/** Outcomes of attempts, and a claim for new work. */
export type ExchangeInput = {
  /** Which worker claims what. */
  claim: ClaimItemsInput;
  /** The reports: 1 to 1,000. */
  reports: Array<ReportInput>;
};

/** What went wrong. */
export type FailureInput = {
  /** What kind of failure, for grouping: 1 to 200 characters. */
  code: Scalars['String']['input'];
  /** What went wrong, in words: up to 10,000 characters. */
  message: Scalars['String']['input'];
  /** Whether trying again is useless: the item has failed for good. Default: false. */
  permanent?: Scalars['Boolean']['input'];
  /** When to try again, in milliseconds from now, instead of after the job's backoff, and without jitter: 0 to 2,147,483,647 (24 days). It still counts as a failure, and no other attempt follows the last one. Not with `permanent`. Default: the backoff. */
  retryAfterMs?: InputMaybe<Scalars['Int']['input']>;
  /** Where in the worker's code it came from, such as a stack trace: up to 4,096 characters. Default: none. */
  stack?: InputMaybe<Scalars['String']['input']>;
};

/** How successes of the parent become items, in the transaction that accepts the report. A path is `payload`, `result` or (with `forEach`) `element`, followed by keys or list positions, separated by dots: `result.lines.0.amount`. A report is INVALID if a path leads nowhere, unless the path ends with `?`: then it gives null. */
export type FeedInput = {
  /** The path to a list: each element becomes an item, and an empty list creates none. A report is INVALID if the path does not lead to a list (with `?`, to a list, null or nothing), or if it would create more than 1,000 items. Default: one item for each success. */
  forEach?: InputMaybe<Scalars['String']['input']>;
  /** The payload of the new item: a path, or an object whose values are paths. A report that would create more than about 20 MB of payloads is INVALID. Default: the element with `forEach`, else the whole result. */
  payload?: InputMaybe<Scalars['JSON']['input']>;
  /** The path to the `serializeKey` of the new item: a string of 1 to 255 characters, or a number; null for none. A report in which it leads to anything else is INVALID. Default: no key. */
  serializeKey?: InputMaybe<Scalars['String']['input']>;
  /** Where the items come from. Default: SUCCESSES. */
  source?: FeedSource;
};

/** Where the items of a fed job come from. */
export type FeedSource =
  /** Only the new items that reports of the parent name. */
  | 'REPORTS'
  /** Each success of the parent creates items through the mapping; reports may name more. */
  | 'SUCCESSES';

/** Why a file is not being read, or was not read to its end. */
export type FileErrorCode =
  /** It is not in the given format: an invalid header, or a JSON array that ends early. */
  | 'BAD_STRUCTURE'
  /** The server failed repeatedly at the same place; its log says more. */
  | 'INTERNAL'
  /** The job was sealed or cancelled before the whole file was read. */
  | 'JOB_SEALED'
  /** It has more columns, or more decompressed text, than the server accepts. */
  | 'LIMIT_EXCEEDED'
  /** It is compressed, and is incomplete or damaged, or the server can't decompress it. */
  | 'NOT_DECOMPRESSED'
  /** It is not in the given encoding, or not text at all. */
  | 'NOT_TEXT'
  /** The tenant would store more items or bytes than it may (JOBTREE_TENANT_MAX_STORED_ITEMS, JOBTREE_TENANT_MAX_STORED_BYTES). */
  | 'STORAGE_LIMIT'
  /** The object store does not return the upload. While the import is WAITING, the server tries again, for an hour. */
  | 'STORE_UNAVAILABLE';

/** The format of a file. */
export type FileFormat =
  /** Rows: each becomes an object of strings, named by the first row. Both `\r\n` and `\n` end a row, even in one file. */
  | 'CSV'
  /** One JSON array: each of its elements becomes an item, unchanged. */
  | 'JSON_ARRAY'
  /** Lines: each becomes a string. */
  | 'LINES'
  /** Lines of JSON: each becomes an item, unchanged. */
  | 'NDJSON';

/** The status of the import of a file. */
export type FileImportStatus =
  /** The job was sealed or cancelled before the whole file was read. */
  | 'CANCELLED'
  /** The whole file was read, and the job is sealed. */
  | 'COMPLETED'
  /** It could not be read to its end. The job has failed: finished items remain, and pending ones were cancelled. */
  | 'FAILED'
  /** It is being read. */
  | 'RUNNING'
  /** No server has started to read it; or its object store is down, as `error` says, and the server tries again. */
  | 'WAITING';

/** A file that becomes the items of a job: servers read it, add its rows in order, and seal the job at its end. It may be compressed with gzip, or with zstd if the Node.js of the servers supports that. */
export type FileInput = {
  /** For CSV: the separator between cells, one ASCII character. Default: a comma. */
  delimiter?: InputMaybe<Scalars['String']['input']>;
  /** The encoding of its text, by its name in the Encoding Standard, such as `utf-8`, `utf-16le` or `windows-1252`. Default: UTF-8, or UTF-16 if the file starts with a byte order mark for that. */
  encoding?: InputMaybe<Scalars['String']['input']>;
  /** Its format. */
  format: FileFormat;
  /** For CSV: whether the first row names the columns. With false, each row becomes a list of strings. Default: true. */
  header?: InputMaybe<Scalars['Boolean']['input']>;
  /** For CSV: the character around cells that contain delimiters or line breaks, one ASCII character; within a cell it is doubled. Default: `"`. */
  quote?: InputMaybe<Scalars['String']['input']>;
  /** Where to find it. */
  source: FileSourceInput;
};

/** Where to find a file. */
export type FileSourceInput =
  /** A part of the request. It is stored as an upload, which is removed again if the job is not created. */
  { file: Scalars['File']['input']; uploadId?: never; }
  |  /** The id of an upload, from `POST /api/uploads` or `createUpload`; it must be complete. NOT_FOUND if it does not exist. */
  { file?: never; uploadId: Scalars['ID']['input']; };

/** How bad it is. */
export type FindingStatus =
  /** This was checked, and is well. */
  | 'OK'
  /** Something is lost, late or stuck, or soon will be. */
  | 'SICK'
  /** It works now, but may not for long, or could work better. */
  | 'WARNING';

/** The assignments that a worker still works on. */
export type HeartbeatInput = {
  /** The assignments to keep: 1 to 1,000. */
  assignmentIds: Array<Scalars['ID']['input']>;
  /** Those among them whose work the worker has not started, up to 1,000; all others count as started. It matters only if the claim set `starts`. */
  waitingIds?: InputMaybe<Array<Scalars['ID']['input']>>;
};

/** The status of an assignment. Unless it is HELD, the worker must stop its work on the item. */
export type HeartbeatStatus =
  /** The item was cancelled, or its job. */
  | 'CANCELLED'
  /** Its outcome was reported. */
  | 'FINISHED'
  /** It is still held, and its deadline has been extended. */
  | 'HELD'
  /** It is not the id of an assignment; `error` says more. Nothing changed. */
  | 'INVALID'
  /** It is unknown, was released, or was taken back after its deadline. */
  | 'LOST';

/** A place in the list of held items: that of an item, which may have been finished since. */
export type HeldItemPlaceInput = {
  /** When it was claimed. */
  claimedAt: Scalars['DateTime']['input'];
  /** The id of the item. */
  itemId: Scalars['ID']['input'];
};

/** A file for a job that exists. */
export type ImportFileInput = {
  /** The file. Its rows are added after the items that the job has; others can be added meanwhile. The end of the file seals the job. A line that can't be read, or that does not match the schema of the type, becomes a failed item. */
  file: FileInput;
  /** The job. It must not be sealed, nor have a file already: INVALID_INPUT. */
  jobId: Scalars['ID']['input'];
};

/** A new item. */
export type ItemInput = {
  /** Unique among the items of the job, 1 to 500 characters: if the key already exists, no item is added. Default: none. */
  dedupeKey?: InputMaybe<Scalars['String']['input']>;
  /** The work to do: any JSON, up to 1 MB of text (a setting of the server). Default: null. */
  payload?: InputMaybe<Scalars['JSON']['input']>;
  /** Items of a type with a higher priority are claimed first: -32,768 to 32,767. Default: the priority of the job. */
  priority?: InputMaybe<Scalars['Int']['input']>;
  /** The item can't be claimed before this time. Default: the `runAt` of the job. */
  runAt?: InputMaybe<Scalars['DateTime']['input']>;
  /** Items with the same key run one at a time, in the order in which they were added, across jobs, trees, types and priorities: 1 to 255 characters. An item that is retried keeps its place, and a scheduled one holds back those behind it. Items of a job that waits for other jobs take their places when the wait is over. Default: the item waits for no other item. */
  serializeKey?: InputMaybe<Scalars['String']['input']>;
};

/** A worker's note about an item that it holds. */
export type ItemNoteInput = {
  /** The assignment. */
  assignmentId: Scalars['ID']['input'];
  /** All lines of this attempt, up to 50; they replace lines that were sent before. The last 50 lines of all attempts are kept. Default: the lines stay as they are. */
  log?: InputMaybe<Array<LogLineInput>>;
  /** Up to 500 characters, which replace an earlier note; an empty one removes it. Default: the note stays as it is. */
  note?: InputMaybe<Scalars['String']['input']>;
};

/** The status of an item. Until it is SUCCEEDED, FAILED or CANCELLED, it is pending. */
export type ItemStatus =
  /** It waits for another item with its serialize key: `blockedBy`. */
  | 'BLOCKED'
  /** It was cancelled before it was finished. */
  | 'CANCELLED'
  /** It failed for good: permanently, or more often than `maxFailuresPerItem`. */
  | 'FAILED'
  /** A worker can claim it, unless its queue is paused or at a limit. */
  | 'READY'
  /** It has failed, and waits for its next attempt: until `retryAt`, and then for about a second, until a server has noticed that it is due. */
  | 'RETRYING'
  /** A worker has it, and has not reported; `assignment` says which one. */
  | 'RUNNING'
  /** It has not failed, and waits for its `runAt` or for the end of a snooze: until `retryAt`, and then for about a second, until a server has noticed that it is due. */
  | 'SCHEDULED'
  /** It has a result. */
  | 'SUCCEEDED'
  /** Its job waits for other jobs of its tree. */
  | 'WAITING';

/** Which jobs to list; all conditions must be met. Lists have 1 to 1,000 entries, of which one must apply. */
export type JobFilter = {
  /** Complete since this time or later. */
  completedFrom?: InputMaybe<Scalars['DateTime']['input']>;
  /** Complete since before this time. */
  completedUntil?: InputMaybe<Scalars['DateTime']['input']>;
  /** Created at this time or later. */
  createdFrom?: InputMaybe<Scalars['DateTime']['input']>;
  /** Created before this time. */
  createdUntil?: InputMaybe<Scalars['DateTime']['input']>;
  /** With a dedupe key that begins with this, or is this: 1 to 500 characters. */
  dedupeKeyPrefix?: InputMaybe<Scalars['String']['input']>;
  /** True: with items that failed for good, and were not replayed. False: without. */
  hasFailures?: InputMaybe<Scalars['Boolean']['input']>;
  /** Only roots of trees that have been idle since this time or longer: see `idleSince` of a job. Give the present time for all trees that are shown as idle. */
  idleSince?: InputMaybe<Scalars['DateTime']['input']>;
  /** Complete, with one of these outcomes. */
  outcomes?: InputMaybe<Array<JobOutcome>>;
  /** Only roots of trees. Default: true. */
  rootsOnly?: Scalars['Boolean']['input'];
  /** Only trees that the schedule with this name created: 1 to 200 characters. */
  schedule?: InputMaybe<Scalars['String']['input']>;
  /** With one of these statuses. */
  statuses?: InputMaybe<Array<JobStatus>>;
  /** Of one of these types, each of 1 to 200 characters. */
  types?: InputMaybe<Array<Scalars['String']['input']>>;
  /** Whether statuses, outcomes, failures and times of completion are those of whole trees, given their roots: a tree is RUNNING from when its root is until all its jobs are complete, and its outcome is the worst outcome of its jobs. INVALID_INPUT without `rootsOnly`. Default: false. */
  wholeTrees?: Scalars['Boolean']['input'];
};

/** A new job, with all jobs below it. A tree has up to 1,000 jobs, and up to 32 levels below its root. */
export type JobInput = {
  /** The names of other jobs of the tree that it waits for, up to 100. Items can be added to it, but no worker gets them before all those jobs are complete with the outcome SUCCEEDED or PARTIAL; if one ends FAILED or CANCELLED, this job is cancelled. INVALID_INPUT for a name that no job or several jobs of the tree have, for the job itself, and for a circle (a fed job also waits for its parent). Default: none. */
  after?: InputMaybe<Array<Scalars['String']['input']>>;
  /** The largest share of each backoff that is added to it at random: 0 to 1. Default: that of the queue of its type, else 0.1. */
  backoffJitter?: InputMaybe<Scalars['Float']['input']>;
  /** How long an item waits after its first, second … failure, in milliseconds, each 0 to 2,147,483,647; the last wait repeats, and an empty list means no wait. Up to 100 steps. Default: that of the queue of its type, else 30 s, 5 min, 30 min. */
  backoffMs?: InputMaybe<Array<Scalars['Int']['input']>>;
  /** For the root: the endpoints to call when the tree, or each of its jobs, is complete. Up to 10. Default: none. */
  callbacks?: InputMaybe<Array<CallbackInput>>;
  /** The jobs directly below it. Default: none. */
  children?: InputMaybe<Array<JobInput>>;
  /** Unique among the jobs of its type, 1 to 500 characters. At the root, an existing key returns the existing tree, and nothing is created; below the root it is refused. Default: none. */
  dedupeKey?: InputMaybe<Scalars['String']['input']>;
  /** How the parent feeds it. A fed job is sealed when its parent is complete. Default: it is not fed. */
  feed?: InputMaybe<FeedInput>;
  /** A file that becomes its items, after those given here; the end of the file seals the job. Not for a fed or sealed job. A line that can't be read, or that does not match the schema of the type, becomes a failed item. Default: none. */
  file?: InputMaybe<FileInput>;
  /** Whether its results are among the results of the tree. Default: true for a job without children. */
  finalStage?: InputMaybe<Scalars['Boolean']['input']>;
  /** How often a worker must send a heartbeat, in milliseconds: 1,000 to 86,400,000; silence for three intervals is a failure. Default: that of the queue of its type, else 60,000. */
  heartbeatIntervalMs?: InputMaybe<Scalars['Int']['input']>;
  /** For the root: the time after which the tree is cancelled if it is idle, in seconds: 1 to 315,576,000 (ten years); null for never. It is idle while a job is not sealed and the tree has no work left. Default: the setting of the server, which is never unless it is changed. */
  idleExpirySeconds?: InputMaybe<Scalars['Int']['input']>;
  /** The items it starts with: up to 1,000. Default: none. */
  items?: InputMaybe<Array<ItemInput>>;
  /** An item that fails more often than this has failed for good: 0 to 1,000. If its worker died with it in the last attempt, it is tried up to three times more, alone, unless this is 0. Default: that of the queue of its type, else 3. */
  maxFailuresPerItem?: InputMaybe<Scalars['Int']['input']>;
  /** The name by which `after` of other jobs of the tree refers to it, 1 to 200 characters; it is not stored. Default: its type. */
  name?: InputMaybe<Scalars['String']['input']>;
  /** The priority of items without their own: -32,768 to 32,767. Default: that of the queue of its type, else 0. */
  priority?: InputMaybe<Scalars['Int']['input']>;
  /** For the root: how long the tree is kept once it is complete, in seconds: 0 (it is deleted at once) to 315,576,000 (ten years); null for ever. Then it is reaped, that is, deleted with its items and results. Default: the setting of the server, which is 7 days unless it is changed. */
  retentionSeconds?: InputMaybe<Scalars['Int']['input']>;
  /** The `runAt` of items without their own. Default: at once. */
  runAt?: InputMaybe<Scalars['DateTime']['input']>;
  /** Whether no items will be added later. A job that is sealed while empty is complete at once. Default: false. */
  sealed?: Scalars['Boolean']['input'];
  /** What happens to the serialize key of an item that failed for good. Default: CONTINUE. */
  serializeOnFailure?: SerializeOnFailure;
  /** The job fails if more items than this fail for good: 0 to 2,147,483,647. Its pending items are then cancelled, and its outcome is FAILED. Reports that arrive at the same time can exceed the number slightly. With `toleratedFailurePercentage`, the job fails when either limit is exceeded. Default: any number is tolerated. */
  toleratedFailureCount?: InputMaybe<Scalars['Int']['input']>;
  /** The job fails if more than this percentage of its items fail for good, as with `toleratedFailureCount`: 0 to 100. It applies once the job is sealed, since the total is unknown before that. Default: any share is tolerated. */
  toleratedFailurePercentage?: InputMaybe<Scalars['Float']['input']>;
  /** For the root: the trace of the items that are given here; workers get it with them. Default: none. */
  traceContext?: InputMaybe<TraceContextInput>;
  /** The kind of work of the items: the name by which workers claim them. 1 to 200 characters. */
  type: Scalars['String']['input'];
};

/** How a list of jobs is ordered. */
export type JobOrder =
  /** Only trees that are not complete, by which part of their items has an outcome. The filter is about whole trees, then. INVALID_INPUT without `rootsOnly`; LIMIT_EXCEEDED if more than 10,000 trees would have to be compared. */
  | 'LEAST_PROGRESS_FIRST'
  /** Only trees with failures, by how many of their items failed. The filter is about whole trees, then. INVALID_INPUT without `rootsOnly`; LIMIT_EXCEEDED if more than 10,000 trees would have to be compared. */
  | 'MOST_FAILURES_FIRST'
  /** The same, with those first that lack least. The filter is about whole trees, then. INVALID_INPUT without `rootsOnly`; LIMIT_EXCEEDED if more than 10,000 trees would have to be compared. */
  | 'MOST_PROGRESS_FIRST'
  /** By creation, the latest first. */
  | 'NEWEST_FIRST'
  /** By creation, the earliest first. */
  | 'OLDEST_FIRST';

/** The outcome of a complete job. That of a tree is the worst outcome of its jobs: FAILED if any has it, else CANCELLED, else PARTIAL, else SUCCEEDED. Items that were cancelled one by one count as if they had never been added. A replay of dead letters reopens the job, which then gets a new outcome. */
export type JobOutcome =
  /** It was cancelled before it was complete, or did not start because a job that it waited for (`after`) ended FAILED or CANCELLED. */
  | 'CANCELLED'
  /** Items failed for good, and none succeeded; or more failed than `toleratedFailureCount` or `toleratedFailurePercentage` allows, or its file could not be read to its end: `failedAt` says when, and its pending items were then cancelled. */
  | 'FAILED'
  /** Some items succeeded, and some failed for good, but no more than the job tolerates. */
  | 'PARTIAL'
  /** No item failed for good. A job without items succeeds, too. */
  | 'SUCCEEDED';

/** The status of a job. */
export type JobStatus =
  /** Complete, and its outcome is CANCELLED. Until then it is WAITING or RUNNING. */
  | 'CANCELLED'
  /** Sealed, and no item is pending. A job completes whether its items succeeded or failed: see `outcome`. */
  | 'COMPLETED'
  /** At least one item was claimed, and the job is not complete. */
  | 'RUNNING'
  /** No item was claimed yet; some may have failed without it, such as lines of a file that could not be read. */
  | 'WAITING';

/** A line of a log. */
export type LogLineInput = {
  /** When it was written. */
  at: Scalars['DateTime']['input'];
  /** The text: up to 500 characters. */
  text: Scalars['String']['input'];
};

/** What happens to missed occurrences, whose trees were not created within 30 seconds, because no server ran or Postgres was down. */
export type MissedPolicy =
  /** Each is created; after a long time only the latest 1,000. */
  | 'RUN_ALL'
  /** The latest one is created, and the others are skipped. */
  | 'RUN_ONCE'
  /** They are skipped. */
  | 'SKIP';

/** A new item for a child job that the job feeds. */
export type NewItemInput = {
  /** Unique among the items of the child, 1 to 500 characters: if the key already exists, no item is added. Default: none. */
  dedupeKey?: InputMaybe<Scalars['String']['input']>;
  /** The work to do: any JSON, up to 1 MB of text (a setting of the server). Default: null. */
  payload?: InputMaybe<Scalars['JSON']['input']>;
  /** Items of a type with a higher priority are claimed first: -32,768 to 32,767. Default: the priority of the child. */
  priority?: InputMaybe<Scalars['Int']['input']>;
  /** The item can't be claimed before this time. Default: the `runAt` of the child. */
  runAt?: InputMaybe<Scalars['DateTime']['input']>;
  /** Items with the same key run one at a time, as with `serializeKey` of ItemInput: 1 to 255 characters. Default: none. */
  serializeKey?: InputMaybe<Scalars['String']['input']>;
  /** The type of the child, 1 to 200 characters; exactly one fed child must have it. */
  type: Scalars['String']['input'];
};

/** Why an item can't be claimed. */
export type NotClaimableReason =
  /** Another item with its serialize key is before it. */
  | 'BLOCKED'
  /** It was cancelled. */
  | 'CANCELLED'
  /** It failed for good. */
  | 'FAILED'
  /** The queue of its type is at its limit of concurrency or rate. */
  | 'LIMITED'
  /** The queue of its type is paused. */
  | 'PAUSED'
  /** It has failed, and its next attempt is due later. */
  | 'RETRYING'
  /** A worker holds it. */
  | 'RUNNING'
  /** It has not failed yet, and is due later: its `runAt`, or the end of a snooze, is in the future. */
  | 'SCHEDULED'
  /** It has a result. */
  | 'SUCCEEDED'
  /** Its job waits for other jobs of its tree. */
  | 'WAITING';

/** Why an item can't be changed. */
export type NotUpdatableReason =
  /** It was cancelled. */
  | 'CANCELLED'
  /** It failed for good. */
  | 'FAILED'
  /** A worker holds it. */
  | 'RUNNING'
  /** It has a result. */
  | 'SUCCEEDED';

/** What to note about which group. */
export type NoteDeadLettersInput = {
  /** The group. */
  groupId: Scalars['ID']['input'];
  /** The note, up to 10,000 characters, which replaces an earlier note. Default: no note. */
  note?: InputMaybe<Scalars['String']['input']>;
};

/** A worker's notes about items that it holds. */
export type NoteItemsInput = {
  /** The notes: 1 to 1,000. */
  notes: Array<ItemNoteInput>;
};

/** What an operation does with items, or with trees. */
export type OperationKind =
  /** Cancels pending items of jobs that continue. */
  | 'CANCEL'
  /** Cancels trees that are not complete. */
  | 'CANCEL_TREES'
  /** Deletes trees. */
  | 'DELETE_TREES'
  /** Settles dead letters: the items remain failed, and are no longer dead letters. */
  | 'DISCARD'
  /** Makes scheduled items ready before their time. */
  | 'PROMOTE'
  /** Tries dead letters again, as if they were new. */
  | 'REPLAY';

/** The status of an operation. */
export type OperationStatus =
  /** It was cancelled; what it has done remains. */
  | 'CANCELLED'
  /** It has handled all its items or trees. */
  | 'FINISHED'
  /** Servers are working on it. */
  | 'RUNNING';

/** The outcome of an attempt. */
export type OutcomeInput =
  /** The attempt failed. */
  { failure: FailureInput; snoozeMs?: never; success?: never; }
  |  /** Neither done nor failed: the item is given back, to be tried again after this many milliseconds, 1,000 to 2,147,483,647 (24 days). It costs no attempt. A repeated snooze answers STALE. */
  { failure?: never; snoozeMs: Scalars['Int']['input']; success?: never; }
  |  /** The item is done. */
  { failure?: never; snoozeMs?: never; success: SuccessInput; };

/** What happens to an occurrence while an earlier tree of the schedule is not complete. */
export type OverlapPolicy =
  /** Its tree is created alongside the other one. */
  | 'ALLOW'
  /** It waits until the earlier trees are complete, within a second or so. Up to 100 wait; further ones are skipped. */
  | 'QUEUE'
  /** It is skipped. */
  | 'SKIP';

/** Which schedule to pause. */
export type PauseScheduleInput = {
  /** The name of the schedule. */
  name: Scalars['String']['input'];
};

/** Which pending items: those that meet all conditions; at least one must be set. Lists have 1 to 1,000 entries. */
export type PendingItemFilter = {
  /** That were added at this time or later. */
  addedFrom?: InputMaybe<Scalars['DateTime']['input']>;
  /** That were added before this time. */
  addedUntil?: InputMaybe<Scalars['DateTime']['input']>;
  /** Whose last failure has one of these codes. */
  codes?: InputMaybe<Array<Scalars['String']['input']>>;
  /** With one of these dedupe keys. */
  dedupeKeys?: InputMaybe<Array<Scalars['String']['input']>>;
  /** These items. */
  itemIds?: InputMaybe<Array<Scalars['ID']['input']>>;
  /** Items of this job and of all jobs below it. */
  jobId?: InputMaybe<Scalars['ID']['input']>;
  /** With one of these statuses. SUCCEEDED, FAILED and CANCELLED are refused with INVALID_INPUT. */
  statuses?: InputMaybe<Array<ItemStatus>>;
  /** Of one of these types. */
  types?: InputMaybe<Array<Scalars['String']['input']>>;
};

/** What a root field of the API requires of a caller. */
export type Permission =
  /** Allows settings, keys, schedules and callbacks. */
  | 'ADMINISTER'
  /** Allows objects by their ids, and who one is. */
  | 'CALL'
  /** Allows changes to one job. */
  | 'CHANGE'
  /** Allows the cancellation or deletion of all trees that match a filter. */
  | 'CLEAR'
  /** Allows new jobs. */
  | 'CREATE'
  /** Allows the servers and their health, which belong to no tenant. */
  | 'INSPECT'
  /** Allows lists and figures by type. */
  | 'LIST'
  /** Allows one job, with its tree and items. */
  | 'READ'
  /** Allows what becomes of dead letters. */
  | 'SETTLE'
  /** Allows watch tokens for one tree. */
  | 'SHARE'
  /** Allows tickets for event streams, for watch tokens. */
  | 'STREAM'
  /** Allows queries about jobs of all types. */
  | 'SURVEY'
  /** Allows changes to all pending items that match a filter. */
  | 'SWEEP'
  /** Allows claims and reports. */
  | 'WORK';

/** What to make ready. */
export type PromoteItemsInput = {
  /** Which items. Its `statuses` may be RETRYING, the default, and SCHEDULED. */
  filter: PendingItemFilter;
};

/** An endpoint of callbacks. */
export type PutCallbackEndpointInput = {
  /** Its name: 1 to 200 characters. */
  name: Scalars['String']['input'];
  /** The URL to call: http or https, up to 2,000 characters, without a user and a password. A host that is, or resolves to, an address that is not public is refused, unless a setting of the server allows its network. */
  url: Scalars['String']['input'];
};

/** A version of a type: at least one of the two schemas. */
export type PutTypeSchemaInput = {
  /** The JSON Schema (draft 2020-12) for payloads, up to 50,000 bytes and 32 levels: an object, or true or false. References lead to its own `$defs` and not in circles, regular expressions have the syntax of RE2, and `format` checks nothing. Default: any payload is accepted. */
  payload?: InputMaybe<Scalars['JSON']['input']>;
  /** The JSON Schema for results, with the limits of that for payloads. Default: any result is accepted. */
  result?: InputMaybe<Scalars['JSON']['input']>;
  /** The type: 1 to 200 characters. */
  type: Scalars['String']['input'];
  /** Which version: 1 to 1,000,000. A type has up to ten at a time. INVALID_INPUT if this version exists with other schemas. */
  version: Scalars['Int']['input'];
};

/** How many items may be claimed in any interval of time. */
export type QueueRateInput = {
  /** The interval, in milliseconds: 1 to 86,400,000, which is a day. */
  intervalMs: Scalars['Int']['input'];
  /** The maximum number of items: 1 to 1,000,000. */
  limit: Scalars['Int']['input'];
};

/** The assignments that a worker gives back. */
export type ReleaseAssignmentsInput = {
  /** The assignments to give back: 1 to 1,000. */
  assignmentIds: Array<Scalars['ID']['input']>;
};

/** What happened to an assignment that a worker gave back. */
export type ReleaseStatus =
  /** It is not the id of an assignment; `error` says more. Nothing changed. */
  | 'INVALID'
  /** The item waits for a worker again, in its old place. */
  | 'RELEASED'
  /** The assignment does not exist, or no longer exists. Nothing changed. */
  | 'STALE';

/** What to try again. */
export type ReplayDeadLettersInput = {
  /** Which items. */
  filter: DeadLetterFilter;
  /** A corrected payload, if `filter.itemIds` names exactly one item: any JSON, up to 1 MB of text (a setting of the server). Default: its current payload. */
  payload?: InputMaybe<Scalars['JSON']['input']>;
  /** Corrects the payload of each item: a JSON merge patch (RFC 7396), such as `{"currency": "EUR", "amount": null}`. Its keys replace those of the payload, also within objects; null removes a key. An object, up to 1 MB of text (a setting of the server), and not with `payload`. Items whose payloads are neither objects nor null, and those whose payloads would become too large or not match a schema of their type, stay dead letters: `Operation.skipped`. */
  payloadPatch?: InputMaybe<Scalars['JSON']['input']>;
};

/** The outcome of one attempt. */
export type ReportInput = {
  /** The assignment under which the work was done. */
  assignmentId: Scalars['ID']['input'];
  /** The outcome of the attempt. */
  outcome: OutcomeInput;
};

/** Outcomes of attempts. */
export type ReportOutcomesInput = {
  /** The reports: 1 to 1,000. */
  reports: Array<ReportInput>;
};

/** What happened to a report. */
export type ReportStatus =
  /** It counts, and is durable. */
  | 'ACCEPTED'
  /** This assignment has reported the same before, in an earlier call. Nothing changed. */
  | 'DUPLICATE'
  /** The report breaks a rule. Nothing changed, and the assignment is kept. */
  | 'INVALID'
  /** The assignment was lost, given back or cancelled, or ended otherwise. Nothing changed; drop the work. */
  | 'STALE';

/** Which schedule to resume. */
export type ResumeScheduleInput = {
  /** The name of the schedule. */
  name: Scalars['String']['input'];
};

/** Which delivery to retry. */
export type RetryCallbackDeliveryInput = {
  /** The delivery. */
  deliveryId: Scalars['ID']['input'];
};

/** Which key to revoke. */
export type RevokeApiKeyInput = {
  /** The id of the key. */
  id: Scalars['ID']['input'];
};

/** The root of the tree. */
export type RevokeWatchTokensInput = {
  /** The job. */
  jobId: Scalars['ID']['input'];
};

/** What a caller may do. It can have several roles. */
export type Role =
  /** May do everything, within its tenant if it has one. Can't have a scope. */
  | 'ADMIN'
  /** Replays and discards dead letters, notes what they mean, cancels and promotes items; reads jobs, items, queues and figures. */
  | 'OPERATOR'
  /** Creates jobs and adds items; changes, cancels and deletes them; reads jobs, items, queues and figures. */
  | 'PRODUCER'
  /** Reads jobs, items, queues and figures; changes nothing. */
  | 'WATCHER'
  /** Claims items and reports on them. Reads only the items that it holds. */
  | 'WORKER';

/** Which key gets a new text. */
export type RotateApiKeyInput = {
  /** The id of the key. */
  id: Scalars['ID']['input'];
  /** How long the previous text remains valid, in milliseconds: 0 to 2,592,000,000 (30 days). Default: 86,400,000 (a day). */
  keepPreviousMs?: Scalars['Count']['input'];
};

/** Which endpoint gets a new secret. */
export type RotateCallbackSecretInput = {
  /** How long the previous secret also signs, in milliseconds: 0 to 2,592,000,000 (30 days). Default: 86,400,000 (a day). */
  keepPreviousMs?: Scalars['Count']['input'];
  /** The name of the endpoint. */
  name: Scalars['String']['input'];
};

/** Which schedule to run. */
export type RunScheduleInput = {
  /** The name of the schedule. */
  name: Scalars['String']['input'];
};

/** A schedule in full: omitted fields get their defaults, even if the schedule had other values before. */
export type ScheduleInput = {
  /** What happens to missed occurrences. Default: RUN_ONCE. */
  missed?: MissedPolicy;
  /** Its name: 1 to 200 characters. */
  name: Scalars['String']['input'];
  /** What happens to an occurrence while an earlier tree is not complete. Default: ALLOW. */
  overlap?: OverlapPolicy;
  /** Whether it is paused. Default: unchanged; a new schedule is not paused. */
  paused?: InputMaybe<Scalars['Boolean']['input']>;
  /** The earliest time of an occurrence; with an interval, the time of the first one. Default: none; intervals then count from 1970-01-01T00:00:00Z, so that with ten minutes occurrences are at :00, :10 and so on. */
  startAt?: InputMaybe<Scalars['DateTime']['input']>;
  /** What each occurrence creates: the input of createJob, up to 1 MB of JSON. Seal it, or its trees are never complete. Its jobs can't have a `dedupeKey`, since the second tree would be the first one. Whatever createJob would refuse is refused here. */
  template: JobInput;
  /** When its occurrences are due. */
  times: ScheduleTimesInput;
};

/** When a schedule is due. */
export type ScheduleTimesInput =
  /** At times of the clock and the calendar, as a cron expression. */
  { cron: CronInput; everyMs?: never; }
  |  /** At an interval, in milliseconds: 1,000 to 31,622,400,000 (366 days), counted from `startAt`. */
  { cron?: never; everyMs: Scalars['Count']['input']; };

/** Which job to seal. */
export type SealJobInput = {
  /** The job. */
  jobId: Scalars['ID']['input'];
};

/** What a watch token can read of its tree. */
export type Sees =
  /** Also its items: their statuses, and the codes of their failures; no payloads, results or messages. */
  | 'ITEMS'
  /** The progress of the tree's jobs, and their types. */
  | 'PROGRESS'
  /** Also results, over HTTP too. */
  | 'RESULTS';

/** A place in the list of serialize keys: that of a key as it was read. */
export type SerializeKeyPlaceInput = {
  /** How many items waited behind it. */
  blocked: Scalars['Count']['input'];
  /** The key. */
  key: Scalars['String']['input'];
};

/** What happens to the serialize key of an item that failed for good. */
export type SerializeOnFailure =
  /** The item keeps its key: if it is replayed it goes first; if it is discarded, or its job is cancelled or deleted, the next item runs. */
  | 'BLOCK'
  /** The next item with the key runs. If the failed item is replayed, it goes to the end of the line. */
  | 'CONTINUE';

/** What to change: omitted settings stay as they are, and null removes a setting. */
export type SetQueueInput = {
  /** The `backoffJitter` of new jobs without their own: 0 to 1. Default: 0.1. */
  backoffJitter?: InputMaybe<Scalars['Float']['input']>;
  /** The `backoffMs` of new jobs without their own, up to 100 steps of 0 to 2,147,483,647 ms. Default: 30 s, 5 min, 30 min. */
  backoffMs?: InputMaybe<Array<Scalars['Int']['input']>>;
  /** How many items all workers together may hold at a time: 1 to 1,000,000. If it is lowered, workers keep the items that they hold. Default: no limit. */
  concurrency?: InputMaybe<Scalars['Int']['input']>;
  /** When an endpoint is told that many items fail for good: once per incident, which ends when there were fewer for a whole interval. Default: never. */
  deadLetterAlert?: InputMaybe<DeadLetterAlertInput>;
  /** The `heartbeatIntervalMs` of new jobs without their own, in milliseconds: 1,000 to 86,400,000. Default: 60,000. */
  heartbeatIntervalMs?: InputMaybe<Scalars['Int']['input']>;
  /** How long an item may wait for its first worker, in milliseconds, 1 to 2,147,483,647: from when it was added, or from its `runAt` if that is later. Then it fails for good with the code `EXPIRED`. It also applies to items that are already waiting. Default: for ever. */
  lifetimeMs?: InputMaybe<Scalars['Int']['input']>;
  /** The `maxFailuresPerItem` of new jobs without their own: 0 to 1,000. Default: 3. */
  maxFailuresPerItem?: InputMaybe<Scalars['Int']['input']>;
  /** Whether no item is given to a worker. Workers continue with items that they hold. Default: false. */
  paused?: InputMaybe<Scalars['Boolean']['input']>;
  /** The priority of new jobs without their own: -32,768 to 32,767. Default: 0. */
  priority?: InputMaybe<Scalars['Int']['input']>;
  /** How many items may be claimed in any interval of time; retries, and items that were released or lost, count like first attempts. Default: no limit. */
  rate?: InputMaybe<QueueRateInput>;
  /** The type: 1 to 200 characters. It need not have any items. */
  type: Scalars['String']['input'];
};

/** How long a tree is kept. Omitted fields stay as they are. */
export type SetRetentionInput = {
  /** The time after which it is cancelled if it is idle, in seconds: 1 to 315,576,000 (ten years); null for never. */
  idleExpirySeconds?: InputMaybe<Scalars['Int']['input']>;
  /** The root of the tree. INVALID_INPUT for another job. */
  jobId: Scalars['ID']['input'];
  /** How long it is kept once it is complete, in seconds: 0 to 315,576,000 (ten years); null for ever. For a complete tree it counts from its completion, so the tree may be reaped at once. */
  retentionSeconds?: InputMaybe<Scalars['Int']['input']>;
};

/** How callers show who they are. */
export type SignInWay =
  /** By a JSON Web Token of an issuer. */
  | 'JWT'
  /** By an API key. */
  | 'KEYS'
  /** By headers of a proxy that has authenticated them. */
  | 'PROXY';

/** Which occurrence to leave out. */
export type SkipOccurrenceInput = {
  /** The occurrence, as in `nextAt` or `queued`, so that it is safe to repeat the call. Default: the next one. */
  at?: InputMaybe<Scalars['DateTime']['input']>;
  /** The name of the schedule. */
  name: Scalars['String']['input'];
};

/** Why an occurrence was skipped. */
export type SkipReason =
  /** A caller skipped it: skipOccurrence. */
  | 'ASKED'
  /** It was missed, and the policy `missed` does not create it; of several, the first. */
  | 'MISSED'
  /** An earlier tree was not complete, and `overlap` is SKIP. */
  | 'OVERLAP'
  /** 100 others were already queued. */
  | 'QUEUE_FULL';

/** What keeps items from being worked on. */
export type StandstillReason =
  /** They wait for their serialize key, which `head` has. */
  | 'BLOCKED'
  /** It was cancelled, a job for `cancelReason`. */
  | 'CANCELLED'
  /** It is complete, or an item has succeeded: nothing is left to do. */
  | 'COMPLETE'
  /** Workers hold as many items of their type as its `concurrency` allows: `limit`. */
  | 'CONCURRENCY_LIMIT'
  /** It has failed for good, an item with `code`: an item can be replayed. */
  | 'FAILED'
  /** The file of the job is being read; with `since`, its object store has been unavailable since then. */
  | 'IMPORTING'
  /** They wait for their serialize key, which `head` keeps, because it failed for good in a job with `serializeOnFailure: BLOCK`: replay or discard it. */
  | 'KEY_HELD'
  /** The job has nothing to do, and is not sealed: more items may come. */
  | 'NOT_SEALED'
  /** No worker that handles their type is connected, and none holds items of it. `since` says in which minute something was last done of the type. */
  | 'NO_WORKER'
  /** Their type is paused: resume it with `setQueue`. */
  | 'PAUSED'
  /** They are ready, and a worker takes them in their turn. The only reason for ready items that callers get who may not list types. */
  | 'QUEUED'
  /** The rate of their type is used up, until `until`. */
  | 'RATE_LIMIT'
  /** They failed with `code`, and are tried again at `until`. */
  | 'RETRYING'
  /** They are scheduled for `until`, or snoozed until then. */
  | 'SCHEDULED'
  /** Their job waits for the jobs in `waitsFor`. */
  | 'WAITS_FOR_JOBS'
  /** The items of the job come from its parent, `waitsFor`, which is not complete. */
  | 'WAITS_FOR_PARENT'
  /** Workers hold as many items of their type as they run at once. */
  | 'WORKERS_BUSY';

/** What is limited. */
export type StorageLimit =
  /** Bytes of payloads and results as JSON text, and of uploads. */
  | 'BYTES'
  /** Items, pending and finished. */
  | 'ITEMS';

/** What a success returns. */
export type SuccessInput = {
  /** New items for fed child jobs, created in the same transaction. Up to 1,000, including those of mappings. Default: none. */
  newItems?: InputMaybe<Array<NewItemInput>>;
  /** Any JSON, up to 1 MB of text (a setting of the server). Default: null. */
  result?: InputMaybe<Scalars['JSON']['input']>;
};

/** The schedules of an application. */
export type SyncSchedulesInput = {
  /** Whether schedules that are not listed are deleted. Default: false. */
  deleteOthers?: Scalars['Boolean']['input'];
  /** With `deleteOthers`, only schedules whose names begin with this are deleted: for applications that share a server. Default: any. */
  prefix?: Scalars['String']['input'];
  /** The schedules: up to 1,000, no name twice. */
  schedules: Array<ScheduleInput>;
};

/** A W3C trace context: the span that new items come from. */
export type TraceContextInput = {
  /** As in the header `traceparent`: `00-<32 hexadecimal digits>-<16>-<2>`. */
  traceparent: Scalars['String']['input'];
  /** As in the header `tracestate`: 1 to 512 visible ASCII characters. Default: none. */
  tracestate?: InputMaybe<Scalars['String']['input']>;
};

/** What carries events between servers. */
export type Transport =
  /** NOTIFY of Postgres. */
  | 'NOTIFY'
  /** Redis. */
  | 'REDIS';

/** What to change. Omitted fields stay as they are. */
export type UpdateItemInput = {
  /** The item. */
  itemId: Scalars['ID']['input'];
  /** A new payload: any JSON, up to 1 MB of text (a setting of the server). */
  payload?: InputMaybe<Scalars['JSON']['input']>;
  /** Its priority, -32,768 to 32,767; null for that of its job. It keeps its age among items of the same priority. */
  priority?: InputMaybe<Scalars['Int']['input']>;
  /** When it is due; null for now, behind items that are already ready. For an item in a backoff it is the end of the backoff; for one whose job waits for others it counts once that wait is over. */
  runAt?: InputMaybe<Scalars['DateTime']['input']>;
};

/** The identity of a worker. */
export type WorkerInput = {
  /** How many items of each of `types` it runs at once, in their order: 1 to 10,000 each. */
  concurrency?: InputMaybe<Array<Scalars['Int']['input']>>;
  /** Its name, as in its claims: 1 to 200 characters. */
  name: Scalars['String']['input'];
  /** The version of its code: 1 to 200 characters. */
  version?: InputMaybe<Scalars['String']['input']>;
};

export type AuditRowFragment = { id: string, at: string, actor: string, action: string, outcome: string, subjects: Array<string>, address: string };

export type LiveAuditEntriesSubscriptionVariables = Exact<{
  filter: AuditFilter;
}>;


export type LiveAuditEntriesSubscription = { live: { auditEntries?: { edges: Array<{ cursor: string, node: { id: string, at: string, actor: string, action: string, outcome: string, subjects: Array<string>, address: string } }> } | null } };

export type AuditEntriesQueryVariables = Exact<{
  filter: AuditFilter;
  after: Scalars['String']['input'];
}>;


export type AuditEntriesQuery = { auditEntries?: { edges: Array<{ cursor: string, node: { id: string, at: string, actor: string, action: string, outcome: string, subjects: Array<string>, address: string } }> } | null };

export type ServerQueryVariables = Exact<{ [key: string]: never; }>;


export type ServerQuery = { viewer?: { name: string, tenant?: string | null, roles: Array<Role>, types?: Array<string> | null, expiresAt?: string | null } | null, server?: { version: string, signIn: Array<SignInWay>, transport: Transport, maxRequestBytes: number, maxJsonBytes: number, maxUploadBytes: number } | null };

export type ApiKeyRowFragment = { id: string, name: string, roles: Array<Role>, tenant?: string | null, types?: Array<string> | null, createdAt: string, createdBy: string, expiresAt?: string | null, lastUsedAt?: string | null, revokedAt?: string | null };

export type LiveApiKeysSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type LiveApiKeysSubscription = { live: { apiKeys?: Array<{ id: string, name: string, roles: Array<Role>, tenant?: string | null, types?: Array<string> | null, createdAt: string, createdBy: string, expiresAt?: string | null, lastUsedAt?: string | null, revokedAt?: string | null }> | null } };

export type ApiKeysQueryVariables = Exact<{
  after: Scalars['ID']['input'];
}>;


export type ApiKeysQuery = { apiKeys?: Array<{ id: string, name: string, roles: Array<Role>, tenant?: string | null, types?: Array<string> | null, createdAt: string, createdBy: string, expiresAt?: string | null, lastUsedAt?: string | null, revokedAt?: string | null }> | null };

export type RevokeKeyMutationVariables = Exact<{
  input: RevokeApiKeyInput;
}>;


export type RevokeKeyMutation = { revokeApiKey?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { apiKey: { id: string } }
   | null };

export type CallbackDeliveryRowFragment = { id: string, endpoint: string, event: CallbackEvent, status: CallbackDeliveryStatus, createdAt: string, attemptCount: number, rootId?: string | null, attempts: Array<{ at: string, statusCode?: number | null, error?: string | null, tookMs?: number | null }> };

export type LiveCallbackDeliveriesSubscriptionVariables = Exact<{
  filter: CallbackDeliveryFilter;
}>;


export type LiveCallbackDeliveriesSubscription = { live: { callbackDeliveries?: { edges: Array<{ cursor: string, node: { id: string, endpoint: string, event: CallbackEvent, status: CallbackDeliveryStatus, createdAt: string, attemptCount: number, rootId?: string | null, attempts: Array<{ at: string, statusCode?: number | null, error?: string | null, tookMs?: number | null }> } }> } | null } };

export type CallbackDeliveriesQueryVariables = Exact<{
  filter: CallbackDeliveryFilter;
  after: Scalars['String']['input'];
}>;


export type CallbackDeliveriesQuery = { callbackDeliveries?: { edges: Array<{ cursor: string, node: { id: string, endpoint: string, event: CallbackEvent, status: CallbackDeliveryStatus, createdAt: string, attemptCount: number, rootId?: string | null, attempts: Array<{ at: string, statusCode?: number | null, error?: string | null, tookMs?: number | null }> } }> } | null };

export type RetryDeliveryMutationVariables = Exact<{
  input: RetryCallbackDeliveryInput;
}>;


export type RetryDeliveryMutation = { retryCallbackDelivery?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { delivery: { id: string } }
   | null };

export type CallbackEndpointsQueryVariables = Exact<{
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type CallbackEndpointsQuery = { callbackEndpoints?: Array<{ name: string }> | null };

export type AddCallbacksMutationVariables = Exact<{
  input: AddCallbacksInput;
}>;


export type AddCallbacksMutation = { addCallbacks?:
    | { job: { id: string } }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type GroupRowFragment = { id: string, type: string, code: string, pattern: string, count: number, firstAt: string, lastAt: string, note?: string | null, notedAt?: string | null, history: Array<{ from: string, count: number }> };

export type LiveDeadLetterGroupsSubscriptionVariables = Exact<{
  types?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
  codes?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
}>;


export type LiveDeadLetterGroupsSubscription = { live: { deadLetterGroups?: Array<{ id: string, type: string, code: string, pattern: string, count: number, firstAt: string, lastAt: string, note?: string | null, notedAt?: string | null, history: Array<{ from: string, count: number }> }> | null } };

export type DeadLetterGroupsQueryVariables = Exact<{
  types?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
  codes?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
  after: Scalars['ID']['input'];
}>;


export type DeadLetterGroupsQuery = { deadLetterGroups?: Array<{ id: string, type: string, code: string, pattern: string, count: number, firstAt: string, lastAt: string, note?: string | null, notedAt?: string | null, history: Array<{ from: string, count: number }> }> | null };

export type LiveDeadLetterGroupSubscriptionVariables = Exact<{
  id: Scalars['ID']['input'];
}>;


export type LiveDeadLetterGroupSubscription = { live: { node?:
      | { id: string, type: string, code: string, pattern: string, count: number, firstAt: string, lastAt: string, note?: string | null, notedAt?: string | null, example?: { id: string, payload?: unknown | null, failures: Array<{ at: string, attempt: number, code: string, message: string, stack?: string | null, worker?: string | null }> } | null, items: Array<{ payloadBeginning?: string | null, id: string, status: ItemStatus, failureCount: number, createdAt: string, finishedAt?: string | null, dedupeKey?: string | null, serializeKey?: string | null, note?: string | null, lastFailure?: { code: string, message: string } | null }>, history: Array<{ from: string, count: number }> }
      | Record<PropertyKey, never>
     | null } };

export type DeadItemRowFragment = { payloadBeginning?: string | null, id: string, status: ItemStatus, failureCount: number, createdAt: string, finishedAt?: string | null, dedupeKey?: string | null, serializeKey?: string | null, note?: string | null, lastFailure?: { code: string, message: string } | null };

export type DeadItemsQueryVariables = Exact<{
  id: Scalars['ID']['input'];
  after: Scalars['ID']['input'];
}>;


export type DeadItemsQuery = { node?:
    | { items: Array<{ payloadBeginning?: string | null, id: string, status: ItemStatus, failureCount: number, createdAt: string, finishedAt?: string | null, dedupeKey?: string | null, serializeKey?: string | null, note?: string | null, lastFailure?: { code: string, message: string } | null }> }
    | Record<PropertyKey, never>
   | null };

export type TreeDeadLettersQueryVariables = Exact<{
  id: Scalars['ID']['input'];
}>;


export type TreeDeadLettersQuery = { job?: { treeDeadLetters?: { hasMore: boolean, groups: Array<{ groupId: string, type: string, code: string, pattern: string, count: number }> } | null } | null };

export type DeadLetterCountQueryVariables = Exact<{
  filter: DeadLetterFilter;
}>;


export type DeadLetterCountQuery = { all?: number | null, replayable?: number | null };

export type ReplayMutationVariables = Exact<{
  input: ReplayDeadLettersInput;
}>;


export type ReplayMutation = { replayDeadLetters?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { operation: { id: string, kind: OperationKind, status: OperationStatus, done: number, total: number, skipped: number, skippedReason?: string | null, requestedAt: string, requestedBy?: string | null, finishedAt?: string | null, selection: { jobId?: string | null, types: Array<string>, codes: Array<string>, groupIds: Array<string>, itemIds: Array<string>, itemCount: number, dedupeKeyCount: number, statuses: Array<string>, from?: string | null, until?: string | null, hasPayload: boolean, hasMore: boolean } } }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type DiscardMutationVariables = Exact<{
  input: DiscardDeadLettersInput;
}>;


export type DiscardMutation = { discardDeadLetters?:
    | { operation: { id: string, kind: OperationKind, status: OperationStatus, done: number, total: number, skipped: number, skippedReason?: string | null, requestedAt: string, requestedBy?: string | null, finishedAt?: string | null, selection: { jobId?: string | null, types: Array<string>, codes: Array<string>, groupIds: Array<string>, itemIds: Array<string>, itemCount: number, dedupeKeyCount: number, statuses: Array<string>, from?: string | null, until?: string | null, hasPayload: boolean, hasMore: boolean } } }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type NoteMutationVariables = Exact<{
  input: NoteDeadLettersInput;
}>;


export type NoteMutation = { noteDeadLetters?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { group: { id: string } }
   | null };

export type GroupExamplesQueryVariables = Exact<{
  id: Scalars['ID']['input'];
}>;


export type GroupExamplesQuery = { node?:
    | { items: Array<{ id: string, payload?: unknown | null }> }
    | Record<PropertyKey, never>
   | null };

export type DeadLetterExamplesQueryVariables = Exact<{
  types?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
  codes?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
}>;


export type DeadLetterExamplesQuery = { deadLetterGroups?: Array<{ example?: { id: string, payload?: unknown | null } | null }> | null };

export type JobExamplesQueryVariables = Exact<{
  ids: Array<Scalars['ID']['input']> | Scalars['ID']['input'];
}>;


export type JobExamplesQuery = { nodes?: Array<
    | { items: { nodes: Array<{ id: string, payload?: unknown | null, deadLetterGroupId?: string | null }> } }
    | Record<PropertyKey, never>
   | null> | null };

export type TreeStateFragment = { rootId: string, complete: boolean, outcome?: JobOutcome | null, percent?: number | null, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number, openJobs: number, unsealedJobs: number, revision: string };

export type TreeRowFragment = { id: string, type: string, dedupeKey?: string | null, createdAt: string, idleSince?: string | null, deletion?: { reaped: boolean } | null, treeProgress?: { rootId: string, complete: boolean, outcome?: JobOutcome | null, percent?: number | null, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number, openJobs: number, unsealedJobs: number, revision: string } | null };

export type TreesQueryVariables = Exact<{
  filter: JobFilter;
  order: JobOrder;
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type TreesQuery = { jobs?: { nodes: Array<{ id: string, type: string, dedupeKey?: string | null, createdAt: string, idleSince?: string | null, deletion?: { reaped: boolean } | null, treeProgress?: { rootId: string, complete: boolean, outcome?: JobOutcome | null, percent?: number | null, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number, openJobs: number, unsealedJobs: number, revision: string } | null }>, pageInfo: { endCursor?: string | null, hasNextPage: boolean } } | null };

export type NewestTreesSubscriptionVariables = Exact<{
  filter: JobFilter;
}>;


export type NewestTreesSubscription = { jobs: { goneIds: Array<string>, jobs: Array<{ id: string, type: string, dedupeKey?: string | null, createdAt: string, idleSince?: string | null, deletion?: { reaped: boolean } | null, treeProgress?: { rootId: string, complete: boolean, outcome?: JobOutcome | null, percent?: number | null, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number, openJobs: number, unsealedJobs: number, revision: string } | null }> } };

export type TreeChangesSubscriptionVariables = Exact<{
  rootId: Scalars['ID']['input'];
  sinceRevision?: InputMaybe<Scalars['String']['input']>;
}>;


export type TreeChangesSubscription = { jobTreeProgress: { rootId: string, complete: boolean, outcome?: JobOutcome | null, percent?: number | null, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number, openJobs: number, unsealedJobs: number, revision: string } };

export type CompleteTreesSubscriptionVariables = Exact<{
  ids: Array<Scalars['ID']['input']> | Scalars['ID']['input'];
}>;


export type CompleteTreesSubscription = { live: { nodes?: Array<
      | { treeProgress?: { rootId: string, complete: boolean, outcome?: JobOutcome | null, percent?: number | null, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number, openJobs: number, unsealedJobs: number, revision: string } | null }
      | Record<PropertyKey, never>
     | null> | null } };

export type ViewerQueryVariables = Exact<{ [key: string]: never; }>;


export type ViewerQuery = { viewer?: { name: string, tenant?: string | null, roles: Array<Role>, permissions: Array<Permission>, expiresAt?: string | null } | null };

export type ImportStateFragment = { uploadId: string, status: FileImportStatus, format: FileFormat, size: number, bytesRead: number, items: number, badLines: number, startedAt?: string | null, finishedAt?: string | null, error?: { message: string } | null };

export type ImportRowFragment = { id: string, type: string, createdAt: string, root: { id: string }, import?: { name?: string | null, uploadId: string, status: FileImportStatus, format: FileFormat, size: number, bytesRead: number, items: number, badLines: number, startedAt?: string | null, finishedAt?: string | null, error?: { message: string } | null } | null };

export type LiveImportsSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type LiveImportsSubscription = { live: { imports?: { edges: Array<{ cursor: string, node: { id: string, type: string, createdAt: string, root: { id: string }, import?: { name?: string | null, uploadId: string, status: FileImportStatus, format: FileFormat, size: number, bytesRead: number, items: number, badLines: number, startedAt?: string | null, finishedAt?: string | null, error?: { message: string } | null } | null } }> } | null } };

export type ImportsQueryVariables = Exact<{
  after: Scalars['String']['input'];
}>;


export type ImportsQuery = { imports?: { edges: Array<{ cursor: string, node: { id: string, type: string, createdAt: string, root: { id: string }, import?: { name?: string | null, uploadId: string, status: FileImportStatus, format: FileFormat, size: number, bytesRead: number, items: number, badLines: number, startedAt?: string | null, finishedAt?: string | null, error?: { message: string } | null } | null } }> } | null };

export type UploadRowFragment = { id: string, name?: string | null, size: number, length?: number | null, complete: boolean, imported: boolean, createdAt: string, expiresAt: string };

export type LiveUploadsSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type LiveUploadsSubscription = { live: { uploads?: { edges: Array<{ cursor: string, node: { id: string, name?: string | null, size: number, length?: number | null, complete: boolean, imported: boolean, createdAt: string, expiresAt: string } }> } | null } };

export type UploadsQueryVariables = Exact<{
  after: Scalars['String']['input'];
}>;


export type UploadsQuery = { uploads?: { edges: Array<{ cursor: string, node: { id: string, name?: string | null, size: number, length?: number | null, complete: boolean, imported: boolean, createdAt: string, expiresAt: string } }> } | null };

export type FilePreviewQueryVariables = Exact<{
  uploadId: Scalars['ID']['input'];
  type?: InputMaybe<Scalars['String']['input']>;
  format?: InputMaybe<FileFormat>;
  encoding?: InputMaybe<Scalars['String']['input']>;
  delimiter?: InputMaybe<Scalars['String']['input']>;
  header?: InputMaybe<Scalars['Boolean']['input']>;
}>;


export type FilePreviewQuery = { filePreview?: { format: FileFormat, delimiter?: string | null, encoding?: string | null, problem?: string | null, rows: Array<{ line: number, payload?: unknown | null, problem?: string | null }> } | null };

export type ImportFileMutationVariables = Exact<{
  input: JobInput;
}>;


export type ImportFileMutation = { createJob?:
    | { job: { id: string } }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type AddFileMutationVariables = Exact<{
  input: ImportFileInput;
}>;


export type AddFileMutation = { importFile?:
    | { job: { id: string } }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type ImportChangesSubscriptionVariables = Exact<{
  jobId: Scalars['ID']['input'];
}>;


export type ImportChangesSubscription = { jobProgress: { completedAt?: string | null, job?: { id: string, import?: { uploadId: string, status: FileImportStatus, format: FileFormat, size: number, bytesRead: number, items: number, badLines: number, startedAt?: string | null, finishedAt?: string | null, error?: { message: string } | null } | null } | null } };

export type BadLinesQueryVariables = Exact<{
  jobId: Scalars['ID']['input'];
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type BadLinesQuery = { job?: { items: { nodes: Array<{ payload?: unknown | null, failures: Array<{ code: string, message: string }> }>, pageInfo: { endCursor?: string | null, hasNextPage: boolean } } } | null };

export type ItemRowFragment = { id: string, status: ItemStatus, failureCount: number, createdAt: string, finishedAt?: string | null, dedupeKey?: string | null, serializeKey?: string | null, note?: string | null, lastFailure?: { code: string, message: string } | null };

export type ItemsQueryVariables = Exact<{
  jobId: Scalars['ID']['input'];
  statuses?: InputMaybe<Array<ItemStatus> | ItemStatus>;
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type ItemsQuery = { job?: { items: { nodes: Array<{ id: string, status: ItemStatus, failureCount: number, createdAt: string, finishedAt?: string | null, dedupeKey?: string | null, serializeKey?: string | null, note?: string | null, lastFailure?: { code: string, message: string } | null }>, pageInfo: { endCursor?: string | null, hasNextPage: boolean } } } | null };

export type SearchItemsQueryVariables = Exact<{
  jobId: Scalars['ID']['input'];
  path?: InputMaybe<Scalars['String']['input']>;
  equals?: InputMaybe<Scalars['String']['input']>;
  text?: InputMaybe<Scalars['String']['input']>;
  codes?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
  dedupeKeys?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
  from?: InputMaybe<Scalars['ID']['input']>;
}>;


export type SearchItemsQuery = { job?: { searchItems: { searched: number, nextFrom?: string | null, nodes: Array<{ id: string, status: ItemStatus, failureCount: number, createdAt: string, finishedAt?: string | null, dedupeKey?: string | null, serializeKey?: string | null, note?: string | null, lastFailure?: { code: string, message: string } | null }> } } | null };

export type LiveItemRowsSubscriptionVariables = Exact<{
  ids: Array<Scalars['ID']['input']> | Scalars['ID']['input'];
}>;


export type LiveItemRowsSubscription = { live: { nodes?: Array<
      | { id: string, status: ItemStatus, failureCount: number, createdAt: string, finishedAt?: string | null, dedupeKey?: string | null, serializeKey?: string | null, note?: string | null, lastFailure?: { code: string, message: string } | null }
      | Record<PropertyKey, never>
     | null> | null } };

export type AddItemMutationVariables = Exact<{
  input: AddItemsInput;
}>;


export type AddItemMutation = { addItems?:
    | { entries: Array<{ status: AddStatus, itemId?: string | null, error?: { message: string } | null }> }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type ItemRangesQueryVariables = Exact<{
  jobId: Scalars['ID']['input'];
  from?: InputMaybe<Scalars['ID']['input']>;
  to?: InputMaybe<Scalars['ID']['input']>;
}>;


export type ItemRangesQuery = { job?: { itemRanges: { nextFrom?: string | null, ranges: Array<{ firstId: string, lastId: string, counts: Array<{ status: ItemStatus, count: number }> }> } } | null };

export type PendingCountsQueryVariables = Exact<{
  jobId: Scalars['ID']['input'];
}>;


export type PendingCountsQuery = { job?: { pendingCounts: { waiting: number, blocked: number, scheduled: number, retrying: number, ready: number, running: number, perSecond?: number | null, secondsLeft?: number | null } } | null };

export type LiveItemSubscriptionVariables = Exact<{
  id: Scalars['ID']['input'];
}>;


export type LiveItemSubscription = { live: { item?: { id: string, status: ItemStatus, payload?: unknown | null, result?: unknown | null, priority: number, createdAt: string, finishedAt?: string | null, runAt?: string | null, retryAt?: string | null, failureCount: number, dedupeKey?: string | null, serializeKey?: string | null, note?: string | null, deadLetterGroupId?: string | null, log: Array<{ at: string, attempt: number, text: string }>, failures: Array<{ at: string, attempt: number, code: string, message: string, stack?: string | null, worker?: string | null }>, traceContext?: { traceparent: string } | null, standstills: Array<{ reason: StandstillReason, type: string, itemCount: number, hasMore: boolean, until?: string | null, since?: string | null, limit?: number | null, code?: string | null, serializeKey?: string | null, cancelReason?: CancelReason | null, job?: { id: string } | null, item?: { id: string } | null, head?: { id: string, status: ItemStatus, failures: Array<{ code: string, message: string }> } | null, waitsFor: Array<{ id: string, type: string }> }>, parentItem?: { id: string, job: { type: string } } | null, childItems: { nodes: Array<{ id: string, status: ItemStatus, job: { type: string } }>, pageInfo: { endCursor?: string | null, hasNextPage: boolean } }, assignment?: { id: string, worker: string, attempt: number, claimedAt: string, heartbeatAt: string, deadlineAt: string, slow: boolean } | null, job: { id: string, type: string, cancelledAt?: string | null, maxFailuresPerItem: number, root: { id: string } } } | null } };

export type ChildItemsFragment = { nodes: Array<{ id: string, status: ItemStatus, job: { type: string } }>, pageInfo: { endCursor?: string | null, hasNextPage: boolean } };

export type LiveChildItemsSubscriptionVariables = Exact<{
  id: Scalars['ID']['input'];
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type LiveChildItemsSubscription = { live: { item?: { childItems: { nodes: Array<{ id: string, status: ItemStatus, job: { type: string } }>, pageInfo: { endCursor?: string | null, hasNextPage: boolean } } } | null } };

export type ItemPayloadQueryVariables = Exact<{
  id: Scalars['ID']['input'];
}>;


export type ItemPayloadQuery = { item?: { payload?: unknown | null, job: { type: string } } | null };

export type PayloadSchemasQueryVariables = Exact<{
  type: Scalars['String']['input'];
}>;


export type PayloadSchemasQuery = { typeSchemas?: Array<{ version: number, payload?: unknown | null }> | null };

export type CancelItemsMutationVariables = Exact<{
  input: CancelItemsInput;
}>;


export type CancelItemsMutation = { cancelItems?:
    | { operation: { id: string, kind: OperationKind, status: OperationStatus, done: number, total: number, skipped: number, skippedReason?: string | null, requestedAt: string, requestedBy?: string | null, finishedAt?: string | null, selection: { jobId?: string | null, types: Array<string>, codes: Array<string>, groupIds: Array<string>, itemIds: Array<string>, itemCount: number, dedupeKeyCount: number, statuses: Array<string>, from?: string | null, until?: string | null, hasPayload: boolean, hasMore: boolean } } }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type PromoteMutationVariables = Exact<{
  input: PromoteItemsInput;
}>;


export type PromoteMutation = { promoteItems?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { operation: { id: string, kind: OperationKind, status: OperationStatus, done: number, total: number, skipped: number, skippedReason?: string | null, requestedAt: string, requestedBy?: string | null, finishedAt?: string | null, selection: { jobId?: string | null, types: Array<string>, codes: Array<string>, groupIds: Array<string>, itemIds: Array<string>, itemCount: number, dedupeKeyCount: number, statuses: Array<string>, from?: string | null, until?: string | null, hasPayload: boolean, hasMore: boolean } } }
   | null };

export type PendingItemCountQueryVariables = Exact<{
  filter: PendingItemFilter;
}>;


export type PendingItemCountQuery = { pendingItemCount?: number | null };

export type UpdateItemMutationVariables = Exact<{
  input: UpdateItemInput;
}>;


export type UpdateItemMutation = { updateItem?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { item: { id: string } }
   | null };

export type OperationStateFragment = { id: string, kind: OperationKind, status: OperationStatus, done: number, total: number, skipped: number, skippedReason?: string | null, requestedAt: string, requestedBy?: string | null, finishedAt?: string | null, selection: { jobId?: string | null, types: Array<string>, codes: Array<string>, groupIds: Array<string>, itemIds: Array<string>, itemCount: number, dedupeKeyCount: number, statuses: Array<string>, from?: string | null, until?: string | null, hasPayload: boolean, hasMore: boolean } };

export type LiveOperationsSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type LiveOperationsSubscription = { live: { operations?: { edges: Array<{ cursor: string, node: { id: string, kind: OperationKind, status: OperationStatus, done: number, total: number, skipped: number, skippedReason?: string | null, requestedAt: string, requestedBy?: string | null, finishedAt?: string | null, selection: { jobId?: string | null, types: Array<string>, codes: Array<string>, groupIds: Array<string>, itemIds: Array<string>, itemCount: number, dedupeKeyCount: number, statuses: Array<string>, from?: string | null, until?: string | null, hasPayload: boolean, hasMore: boolean } } }> } | null } };

export type OperationsQueryVariables = Exact<{
  after: Scalars['String']['input'];
}>;


export type OperationsQuery = { operations?: { edges: Array<{ cursor: string, node: { id: string, kind: OperationKind, status: OperationStatus, done: number, total: number, skipped: number, skippedReason?: string | null, requestedAt: string, requestedBy?: string | null, finishedAt?: string | null, selection: { jobId?: string | null, types: Array<string>, codes: Array<string>, groupIds: Array<string>, itemIds: Array<string>, itemCount: number, dedupeKeyCount: number, statuses: Array<string>, from?: string | null, until?: string | null, hasPayload: boolean, hasMore: boolean } } }> } | null };

export type CancelOperationMutationVariables = Exact<{
  input: CancelOperationInput;
}>;


export type CancelOperationMutation = { cancelOperation?:
    | { operation: { id: string, kind: OperationKind, status: OperationStatus, done: number, total: number, skipped: number, skippedReason?: string | null, requestedAt: string, requestedBy?: string | null, finishedAt?: string | null, selection: { jobId?: string | null, types: Array<string>, codes: Array<string>, groupIds: Array<string>, itemIds: Array<string>, itemCount: number, dedupeKeyCount: number, statuses: Array<string>, from?: string | null, until?: string | null, hasPayload: boolean, hasMore: boolean } } }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type OperationChangesSubscriptionVariables = Exact<{
  operationId: Scalars['ID']['input'];
}>;


export type OperationChangesSubscription = { operationProgress: { id: string, kind: OperationKind, status: OperationStatus, done: number, total: number, skipped: number, skippedReason?: string | null, requestedAt: string, requestedBy?: string | null, finishedAt?: string | null, selection: { jobId?: string | null, types: Array<string>, codes: Array<string>, groupIds: Array<string>, itemIds: Array<string>, itemCount: number, dedupeKeyCount: number, statuses: Array<string>, from?: string | null, until?: string | null, hasPayload: boolean, hasMore: boolean } } };

export type QueueStateFragment = { type: string, paused: boolean, ready: number, running: number, scheduled: number, retrying: number, waiting: number, blocked: number, concurrency?: number | null, rate?: { limit: number, intervalMs: number } | null };

type RecentFigures_Queue_Fragment = { figures: { claimedPerSecond: number, perSecond: number, deadRate?: number | null, wait: { p50Ms?: number | null, p95Ms?: number | null }, processing: { p50Ms?: number | null, p95Ms?: number | null } } };

type RecentFigures_QueueTotal_Fragment = { figures: { claimedPerSecond: number, perSecond: number, deadRate?: number | null, wait: { p50Ms?: number | null, p95Ms?: number | null }, processing: { p50Ms?: number | null, p95Ms?: number | null } } };

export type RecentFiguresFragment =
  | RecentFigures_Queue_Fragment
  | RecentFigures_QueueTotal_Fragment
;

export type LiveQueueNamesSubscriptionVariables = Exact<{
  find?: InputMaybe<Scalars['String']['input']>;
}>;


export type LiveQueueNamesSubscription = { live: { queueTotal?: { typeCount: number, ready: number, running: number, scheduled: number, retrying: number, waiting: number, blocked: number, figures: { claimedPerSecond: number, perSecond: number, deadRate?: number | null, wait: { p50Ms?: number | null, p95Ms?: number | null }, processing: { p50Ms?: number | null, p95Ms?: number | null } } } | null, queues?: Array<{ type: string }> | null } };

export type QueueNamesQueryVariables = Exact<{
  find?: InputMaybe<Scalars['String']['input']>;
  after: Scalars['String']['input'];
}>;


export type QueueNamesQuery = { queues?: Array<{ type: string }> | null };

export type LiveQueuesSubscriptionVariables = Exact<{
  types: Array<Scalars['String']['input']> | Scalars['String']['input'];
}>;


export type LiveQueuesSubscription = { live: { queues?: Array<{ type: string, paused: boolean, ready: number, running: number, scheduled: number, retrying: number, waiting: number, blocked: number, concurrency?: number | null, standstills: Array<{ reason: StandstillReason, until?: string | null, since?: string | null, limit?: number | null }>, rate?: { limit: number, intervalMs: number } | null, figures: { claimedPerSecond: number, perSecond: number, deadRate?: number | null, wait: { p50Ms?: number | null, p95Ms?: number | null }, processing: { p50Ms?: number | null, p95Ms?: number | null } } }> | null } };

export type LiveQueueSubscriptionVariables = Exact<{
  type: Scalars['String']['input'];
}>;


export type LiveQueueSubscription = { live: { queue?: { oldestReadyMs?: number | null, slow: number, slowAfterMs?: number | null, lifetimeMs?: number | null, type: string, paused: boolean, ready: number, running: number, scheduled: number, retrying: number, waiting: number, blocked: number, concurrency?: number | null, standstills: Array<{ reason: StandstillReason, type: string, itemCount: number, hasMore: boolean, until?: string | null, since?: string | null, limit?: number | null, code?: string | null, serializeKey?: string | null, cancelReason?: CancelReason | null, job?: { id: string } | null, item?: { id: string } | null, head?: { id: string, status: ItemStatus, failures: Array<{ code: string, message: string }> } | null, waitsFor: Array<{ id: string, type: string }> }>, rate?: { limit: number, intervalMs: number } | null, figures: { claimedPerSecond: number, perSecond: number, deadRate?: number | null, wait: { p50Ms?: number | null, p95Ms?: number | null }, processing: { p50Ms?: number | null, p95Ms?: number | null } } } | null, workers?: Array<{ name: string }> | null } };

export type DeadLettersOfTypeQueryVariables = Exact<{
  type: Scalars['String']['input'];
}>;


export type DeadLettersOfTypeQuery = { deadLetterCount?: number | null };

export type HistoryStepFragment = { from: string, until: string, claimed: number, succeeded: number, failed: number, dead: number, wait: { p50Ms?: number | null, p95Ms?: number | null, buckets: Array<{ fromMs: number, count: number }> }, processing: { p50Ms?: number | null, p95Ms?: number | null, buckets: Array<{ fromMs: number, count: number }> } };

export type LiveQueueHistorySubscriptionVariables = Exact<{
  type: Scalars['String']['input'];
  minutes: Scalars['Int']['input'];
  step: Scalars['Int']['input'];
}>;


export type LiveQueueHistorySubscription = { live: { queue?: { history: Array<{ from: string, until: string, claimed: number, succeeded: number, failed: number, dead: number, wait: { p50Ms?: number | null, p95Ms?: number | null, buckets: Array<{ fromMs: number, count: number }> }, processing: { p50Ms?: number | null, p95Ms?: number | null, buckets: Array<{ fromMs: number, count: number }> } }> } | null } };

export type LiveTotalHistorySubscriptionVariables = Exact<{
  find?: InputMaybe<Scalars['String']['input']>;
  minutes: Scalars['Int']['input'];
  step: Scalars['Int']['input'];
}>;


export type LiveTotalHistorySubscription = { live: { queueTotal?: { history: Array<{ from: string, until: string, claimed: number, succeeded: number, failed: number, dead: number, wait: { p50Ms?: number | null, p95Ms?: number | null, buckets: Array<{ fromMs: number, count: number }> }, processing: { p50Ms?: number | null, p95Ms?: number | null, buckets: Array<{ fromMs: number, count: number }> } }> } | null } };

export type SetQueueMutationVariables = Exact<{
  input: SetQueueInput;
}>;


export type SetQueueMutation = { setQueue?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { queue: { type: string } }
   | null };

export type LiveSerializeKeysSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type LiveSerializeKeysSubscription = { live: { serializeKeys?: Array<{ key: string, blocked: number, held: boolean, head?: { id: string, status: ItemStatus, lastFailure?: { code: string, message: string } | null, job: { type: string } } | null }> | null } };

export type SerializeKeysQueryVariables = Exact<{
  after: SerializeKeyPlaceInput;
}>;


export type SerializeKeysQuery = { serializeKeys?: Array<{ key: string, blocked: number, held: boolean, head?: { id: string, status: ItemStatus, lastFailure?: { code: string, message: string } | null, job: { type: string } } | null }> | null };

export type KeyRowFragment = { key: string, blocked: number, held: boolean, head?: { id: string, status: ItemStatus, lastFailure?: { code: string, message: string } | null, job: { type: string } } | null };

export type FindKeyQueryVariables = Exact<{
  key: Scalars['String']['input'];
}>;


export type FindKeyQuery = { serializeKeys?: Array<{ key: string, blocked: number, head?: { id: string } | null }> | null };

export type ScheduleRowFragment = { name: string, cron?: string | null, timeZone?: string | null, everyMs?: number | null, changedAt: string, pausedAt?: string | null, nextAt?: string | null, queued: Array<string>, lastOccurrenceAt?: string | null, lastJob?: { id: string } | null, lastSkip?: { at: string, reason: SkipReason } | null, lastFailure?: { at: string, message: string } | null };

export type LiveSchedulesSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type LiveSchedulesSubscription = { live: { schedules?: { edges: Array<{ cursor: string, node: { name: string, cron?: string | null, timeZone?: string | null, everyMs?: number | null, changedAt: string, pausedAt?: string | null, nextAt?: string | null, queued: Array<string>, lastOccurrenceAt?: string | null, lastJob?: { id: string } | null, lastSkip?: { at: string, reason: SkipReason } | null, lastFailure?: { at: string, message: string } | null } }> } | null } };

export type SchedulesQueryVariables = Exact<{
  after: Scalars['String']['input'];
}>;


export type SchedulesQuery = { schedules?: { edges: Array<{ cursor: string, node: { name: string, cron?: string | null, timeZone?: string | null, everyMs?: number | null, changedAt: string, pausedAt?: string | null, nextAt?: string | null, queued: Array<string>, lastOccurrenceAt?: string | null, lastJob?: { id: string } | null, lastSkip?: { at: string, reason: SkipReason } | null, lastFailure?: { at: string, message: string } | null } }> } | null };

export type ScheduleCalendarQueryVariables = Exact<{
  from: Scalars['DateTime']['input'];
  until: Scalars['DateTime']['input'];
  first: Scalars['Int']['input'];
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type ScheduleCalendarQuery = { schedules?: { nodes: Array<{ nextOccurrences: Array<string>, name: string, cron?: string | null, timeZone?: string | null, everyMs?: number | null, changedAt: string, pausedAt?: string | null, nextAt?: string | null, queued: Array<string>, lastOccurrenceAt?: string | null, lastJob?: { id: string } | null, lastSkip?: { at: string, reason: SkipReason } | null, lastFailure?: { at: string, message: string } | null }>, pageInfo: { endCursor?: string | null, hasNextPage: boolean } } | null };

export type RunScheduleMutationVariables = Exact<{
  input: RunScheduleInput;
}>;


export type RunScheduleMutation = { runSchedule?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { job: { id: string } }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type SkipOccurrenceMutationVariables = Exact<{
  input: SkipOccurrenceInput;
}>;


export type SkipOccurrenceMutation = { skipOccurrence?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { schedule: { name: string } }
   | null };

export type PauseScheduleMutationVariables = Exact<{
  input: PauseScheduleInput;
}>;


export type PauseScheduleMutation = { pauseSchedule?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { schedule: { name: string } }
   | null };

export type ResumeScheduleMutationVariables = Exact<{
  input: ResumeScheduleInput;
}>;


export type ResumeScheduleMutation = { resumeSchedule?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { schedule: { name: string } }
   | null };

export type StandstillFragment = { reason: StandstillReason, type: string, itemCount: number, hasMore: boolean, until?: string | null, since?: string | null, limit?: number | null, code?: string | null, serializeKey?: string | null, cancelReason?: CancelReason | null, job?: { id: string } | null, item?: { id: string } | null, head?: { id: string, status: ItemStatus, failures: Array<{ code: string, message: string }> } | null, waitsFor: Array<{ id: string, type: string }> };

export type TreeStandstillsQueryVariables = Exact<{
  id: Scalars['ID']['input'];
}>;


export type TreeStandstillsQuery = { job?: { treeStandstills?: Array<{ reason: StandstillReason, type: string, itemCount: number, hasMore: boolean, until?: string | null, since?: string | null, limit?: number | null, code?: string | null, serializeKey?: string | null, cancelReason?: CancelReason | null, job?: { id: string } | null, item?: { id: string } | null, head?: { id: string, status: ItemStatus, failures: Array<{ code: string, message: string }> } | null, waitsFor: Array<{ id: string, type: string }> }> | null } | null };

export type LiveServersSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type LiveServersSubscription = { live: { servers?: Array<{ host: string, process: number, version: string, transport: Transport, connectedAt?: string | null, seenAt?: string | null }> | null } };

export type LiveFindingsSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type LiveFindingsSubscription = { live: { findings?: Array<{ check: string, status: FindingStatus, message: string, since?: string | null, advice?: string | null }> | null } };

type Refusal_EntryError_Fragment = { code: ErrorCode, message: string, field?: string | null };

type Refusal_InvalidInputError_Fragment = { code: ErrorCode, message: string, field?: string | null };

type Refusal_ItemNotClaimableError_Fragment = { code: ErrorCode, message: string, field?: string | null };

type Refusal_ItemNotUpdatableError_Fragment = { code: ErrorCode, message: string, field?: string | null };

type Refusal_JobFedByParentError_Fragment = { code: ErrorCode, message: string, field?: string | null };

type Refusal_JobSealedError_Fragment = { code: ErrorCode, message: string, field?: string | null };

type Refusal_NotFoundError_Fragment = { code: ErrorCode, message: string, field?: string | null };

type Refusal_StorageLimitError_Fragment = { code: ErrorCode, message: string, field?: string | null };

export type RefusalFragment =
  | Refusal_EntryError_Fragment
  | Refusal_InvalidInputError_Fragment
  | Refusal_ItemNotClaimableError_Fragment
  | Refusal_ItemNotUpdatableError_Fragment
  | Refusal_JobFedByParentError_Fragment
  | Refusal_JobSealedError_Fragment
  | Refusal_NotFoundError_Fragment
  | Refusal_StorageLimitError_Fragment
;

export type JobStateFragment = { jobId: string, status: JobStatus, outcome?: JobOutcome | null, percent?: number | null, sealed: boolean, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number, message: string, startedAt?: string | null, completedAt?: string | null, revision: string };

export type JobChangesSubscriptionVariables = Exact<{
  rootId: Scalars['ID']['input'];
  sinceRevision?: InputMaybe<Scalars['String']['input']>;
}>;


export type JobChangesSubscription = { jobTreeProgress: { rootId: string, complete: boolean, outcome?: JobOutcome | null, percent?: number | null, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number, openJobs: number, unsealedJobs: number, revision: string, jobs: Array<{ jobId: string, status: JobStatus, outcome?: JobOutcome | null, percent?: number | null, sealed: boolean, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number, message: string, startedAt?: string | null, completedAt?: string | null, revision: string }> } };

export type LiveCompletionSubscriptionVariables = Exact<{
  id: Scalars['ID']['input'];
}>;


export type LiveCompletionSubscription = { live: { job?: { treeProgress?: { complete: boolean } | null } | null } };

export type TreeQueryVariables = Exact<{
  id: Scalars['ID']['input'];
}>;


export type TreeQuery = { job?: { id: string, type: string, root: { id: string, type: string, dedupeKey?: string | null, createdAt: string, reapAt?: string | null, retentionSeconds?: number | null, callbacks: Array<{ endpoint: string, on: CallbackTrigger }>, occurrence?: { at: string, schedule: string } | null, tree: Array<{ id: string, type: string, depth: number, waitsForJobs: boolean, parent?: { id: string } | null, after: Array<{ id: string, type: string }>, feed?: { source: FeedSource } | null, import?: { uploadId: string, status: FileImportStatus, format: FileFormat, size: number, bytesRead: number, items: number, badLines: number, startedAt?: string | null, finishedAt?: string | null, error?: { message: string } | null } | null, progress: { jobId: string, status: JobStatus, outcome?: JobOutcome | null, percent?: number | null, sealed: boolean, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number, message: string, startedAt?: string | null, completedAt?: string | null, revision: string } }> } } | null };

export type SealMutationVariables = Exact<{
  input: SealJobInput;
}>;


export type SealMutation = { sealJob?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { job: { id: string } }
   | null };

export type CancelJobMutationVariables = Exact<{
  input: CancelJobInput;
}>;


export type CancelJobMutation = { cancelJob?:
    | { job: { id: string } }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type DeleteJobMutationVariables = Exact<{
  input: DeleteJobInput;
}>;


export type DeleteJobMutation = { deleteJob?:
    | { deleted: boolean }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type TreeCountQueryVariables = Exact<{
  filter: JobFilter;
  buckets: Scalars['Int']['input'];
}>;


export type TreeCountQuery = { jobCount?: { count: number, since?: string | null, buckets: Array<{ from: string, until: string, count: number }> } | null };

export type FindQueryVariables = Exact<{
  type: Scalars['String']['input'];
  dedupeKey: Scalars['String']['input'];
}>;


export type FindQuery = { jobByDedupeKey?: { id: string } | null };

export type TypesQueryVariables = Exact<{
  find?: InputMaybe<Scalars['String']['input']>;
  named?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
}>;


export type TypesQuery = { found?: Array<{ type: string }> | null, named?: Array<{ type: string }> | null };

export type CancelTreesMutationVariables = Exact<{
  input: CancelTreesInput;
}>;


export type CancelTreesMutation = { cancelTrees?:
    | { operation: { id: string, kind: OperationKind, status: OperationStatus, done: number, total: number, skipped: number, skippedReason?: string | null, requestedAt: string, requestedBy?: string | null, finishedAt?: string | null, selection: { jobId?: string | null, types: Array<string>, codes: Array<string>, groupIds: Array<string>, itemIds: Array<string>, itemCount: number, dedupeKeyCount: number, statuses: Array<string>, from?: string | null, until?: string | null, hasPayload: boolean, hasMore: boolean } } }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type DeleteTreesMutationVariables = Exact<{
  input: DeleteTreesInput;
}>;


export type DeleteTreesMutation = { deleteTrees?:
    | { operation: { id: string, kind: OperationKind, status: OperationStatus, done: number, total: number, skipped: number, skippedReason?: string | null, requestedAt: string, requestedBy?: string | null, finishedAt?: string | null, selection: { jobId?: string | null, types: Array<string>, codes: Array<string>, groupIds: Array<string>, itemIds: Array<string>, itemCount: number, dedupeKeyCount: number, statuses: Array<string>, from?: string | null, until?: string | null, hasPayload: boolean, hasMore: boolean } } }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type SetRetentionMutationVariables = Exact<{
  input: SetRetentionInput;
}>;


export type SetRetentionMutation = { setRetention?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { job: { id: string } }
   | null };

export type WatchedTreeQueryVariables = Exact<{
  id: Scalars['ID']['input'];
}>;


export type WatchedTreeQuery = { job?: { type: string, tree: Array<{ id: string, type: string, parent?: { id: string } | null }> } | null };

export type WatchedCompletionQueryVariables = Exact<{
  id: Scalars['ID']['input'];
}>;


export type WatchedCompletionQuery = { job?: { treeProgress?: { complete: boolean } | null } | null };

export type WatchedResultsQueryVariables = Exact<{
  id: Scalars['ID']['input'];
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type WatchedResultsQuery = { job?: { results: { nodes: Array<{ result?: unknown | null }>, pageInfo: { endCursor?: string | null, hasNextPage: boolean } } } | null };

export type ShareTreeMutationVariables = Exact<{
  input: CreateWatchTokenInput;
}>;


export type ShareTreeMutation = { createWatchToken?:
    | { token: string, expiresAt: string }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type RevokeSharesMutationVariables = Exact<{
  input: RevokeWatchTokensInput;
}>;


export type RevokeSharesMutation = { revokeWatchTokens?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { revokedAt: string }
   | null };

export type WorkerNameFragment = { name: string, version?: string | null, connectedAt?: string | null };

export type LiveWorkerNamesSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type LiveWorkerNamesSubscription = { live: { workers?: Array<{ name: string, version?: string | null, connectedAt?: string | null }> | null } };

export type WorkerNamesQueryVariables = Exact<{
  after: Scalars['String']['input'];
}>;


export type WorkerNamesQuery = { workers?: Array<{ name: string, version?: string | null, connectedAt?: string | null }> | null };

export type LiveWorkersSubscriptionVariables = Exact<{
  after?: InputMaybe<Scalars['String']['input']>;
  first: Scalars['Int']['input'];
}>;


export type LiveWorkersSubscription = { live: { workers?: Array<{ name: string, types: Array<{ type: string, concurrency?: number | null, holds: number }> }> | null } };

export type LiveHeldItemsSubscriptionVariables = Exact<{
  slowOnly: Scalars['Boolean']['input'];
  types?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
  workers?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
}>;


export type LiveHeldItemsSubscription = { live: { heldItems?: Array<{ itemId: string, type: string, worker: string, attempt: number, claimedAt: string, heartbeatAt: string, slow: boolean }> | null } };

export type HeldItemsQueryVariables = Exact<{
  slowOnly: Scalars['Boolean']['input'];
  types?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
  workers?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
  after: HeldItemPlaceInput;
}>;


export type HeldItemsQuery = { heldItems?: Array<{ itemId: string, type: string, worker: string, attempt: number, claimedAt: string, heartbeatAt: string, slow: boolean }> | null };

export type HeldRowFragment = { itemId: string, type: string, worker: string, attempt: number, claimedAt: string, heartbeatAt: string, slow: boolean };

export class TypedDocumentString<TResult, TVariables>
  extends String
  implements DocumentTypeDecoration<TResult, TVariables>
{
  __apiType?: NonNullable<DocumentTypeDecoration<TResult, TVariables>['__apiType']>;
  private value: string;
  public __meta__?: Record<string, any> | undefined;

  constructor(value: string, __meta__?: Record<string, any> | undefined) {
    super(value);
    this.value = value;
    this.__meta__ = __meta__;
  }

  override toString(): string & DocumentTypeDecoration<TResult, TVariables> {
    return this.value;
  }
}
export const AuditRow = /*#__PURE__*/ new TypedDocumentString(`
    fragment AuditRow on AuditEntry {
  id
  at
  actor
  action
  outcome
  subjects
  address
}
    `, {"fragmentName":"AuditRow"}) as unknown as TypedDocumentString<AuditRowFragment, unknown>;
export const ApiKeyRow = /*#__PURE__*/ new TypedDocumentString(`
    fragment ApiKeyRow on ApiKey {
  id
  name
  roles
  tenant
  types
  createdAt
  createdBy
  expiresAt
  lastUsedAt
  revokedAt
}
    `, {"fragmentName":"ApiKeyRow"}) as unknown as TypedDocumentString<ApiKeyRowFragment, unknown>;
export const CallbackDeliveryRow = /*#__PURE__*/ new TypedDocumentString(`
    fragment CallbackDeliveryRow on CallbackDelivery {
  id
  endpoint
  event
  status
  createdAt
  attemptCount
  rootId
  attempts {
    at
    statusCode
    error
    tookMs
  }
}
    `, {"fragmentName":"CallbackDeliveryRow"}) as unknown as TypedDocumentString<CallbackDeliveryRowFragment, unknown>;
export const GroupRow = /*#__PURE__*/ new TypedDocumentString(`
    fragment GroupRow on DeadLetterGroup {
  id
  type
  code
  pattern
  count
  firstAt
  lastAt
  note
  notedAt
  history(steps: 24, stepMinutes: 60) {
    from
    count
  }
}
    `, {"fragmentName":"GroupRow"}) as unknown as TypedDocumentString<GroupRowFragment, unknown>;
export const ItemRow = /*#__PURE__*/ new TypedDocumentString(`
    fragment ItemRow on JobItem {
  id
  status
  failureCount
  createdAt
  finishedAt
  dedupeKey
  serializeKey
  note
  lastFailure {
    code
    message
  }
}
    `, {"fragmentName":"ItemRow"}) as unknown as TypedDocumentString<ItemRowFragment, unknown>;
export const DeadItemRow = /*#__PURE__*/ new TypedDocumentString(`
    fragment DeadItemRow on JobItem {
  ...ItemRow
  payloadBeginning
}
    fragment ItemRow on JobItem {
  id
  status
  failureCount
  createdAt
  finishedAt
  dedupeKey
  serializeKey
  note
  lastFailure {
    code
    message
  }
}`, {"fragmentName":"DeadItemRow"}) as unknown as TypedDocumentString<DeadItemRowFragment, unknown>;
export const TreeState = /*#__PURE__*/ new TypedDocumentString(`
    fragment TreeState on TreeProgress {
  rootId
  complete
  outcome
  percent
  itemCount
  itemProgress
  succeeded
  failed
  cancelled
  openJobs
  unsealedJobs
  revision
}
    `, {"fragmentName":"TreeState"}) as unknown as TypedDocumentString<TreeStateFragment, unknown>;
export const TreeRow = /*#__PURE__*/ new TypedDocumentString(`
    fragment TreeRow on Job {
  id
  type
  dedupeKey
  createdAt
  idleSince
  deletion {
    reaped
  }
  treeProgress {
    ...TreeState
  }
}
    fragment TreeState on TreeProgress {
  rootId
  complete
  outcome
  percent
  itemCount
  itemProgress
  succeeded
  failed
  cancelled
  openJobs
  unsealedJobs
  revision
}`, {"fragmentName":"TreeRow"}) as unknown as TypedDocumentString<TreeRowFragment, unknown>;
export const ImportState = /*#__PURE__*/ new TypedDocumentString(`
    fragment ImportState on FileImport {
  uploadId
  status
  format
  size
  bytesRead
  items
  badLines
  startedAt
  finishedAt
  error {
    message
  }
}
    `, {"fragmentName":"ImportState"}) as unknown as TypedDocumentString<ImportStateFragment, unknown>;
export const ImportRow = /*#__PURE__*/ new TypedDocumentString(`
    fragment ImportRow on Job {
  id
  type
  createdAt
  root {
    id
  }
  import {
    name
    ...ImportState
  }
}
    fragment ImportState on FileImport {
  uploadId
  status
  format
  size
  bytesRead
  items
  badLines
  startedAt
  finishedAt
  error {
    message
  }
}`, {"fragmentName":"ImportRow"}) as unknown as TypedDocumentString<ImportRowFragment, unknown>;
export const UploadRow = /*#__PURE__*/ new TypedDocumentString(`
    fragment UploadRow on Upload {
  id
  name
  size
  length
  complete
  imported
  createdAt
  expiresAt
}
    `, {"fragmentName":"UploadRow"}) as unknown as TypedDocumentString<UploadRowFragment, unknown>;
export const ChildItems = /*#__PURE__*/ new TypedDocumentString(`
    fragment ChildItems on ChildItemConnection {
  nodes {
    id
    status
    job {
      type
    }
  }
  pageInfo {
    endCursor
    hasNextPage
  }
}
    `, {"fragmentName":"ChildItems"}) as unknown as TypedDocumentString<ChildItemsFragment, unknown>;
export const OperationState = /*#__PURE__*/ new TypedDocumentString(`
    fragment OperationState on Operation {
  id
  kind
  status
  done
  total
  skipped
  skippedReason
  requestedAt
  requestedBy
  finishedAt
  selection {
    jobId
    types
    codes
    groupIds
    itemIds
    itemCount
    dedupeKeyCount
    statuses
    from
    until
    hasPayload
    hasMore
  }
}
    `, {"fragmentName":"OperationState"}) as unknown as TypedDocumentString<OperationStateFragment, unknown>;
export const QueueState = /*#__PURE__*/ new TypedDocumentString(`
    fragment QueueState on Queue {
  type
  paused
  ready
  running
  scheduled
  retrying
  waiting
  blocked
  concurrency
  rate {
    limit
    intervalMs
  }
}
    `, {"fragmentName":"QueueState"}) as unknown as TypedDocumentString<QueueStateFragment, unknown>;
export const RecentFigures = /*#__PURE__*/ new TypedDocumentString(`
    fragment RecentFigures on Workload {
  figures(lastMinutes: 5) {
    claimedPerSecond
    perSecond
    deadRate
    wait {
      p50Ms
      p95Ms
    }
    processing {
      p50Ms
      p95Ms
    }
  }
}
    `, {"fragmentName":"RecentFigures"}) as unknown as TypedDocumentString<RecentFiguresFragment, unknown>;
export const HistoryStep = /*#__PURE__*/ new TypedDocumentString(`
    fragment HistoryStep on QueueFigures {
  from
  until
  claimed
  succeeded
  failed
  dead
  wait {
    p50Ms
    p95Ms
    buckets {
      fromMs
      count
    }
  }
  processing {
    p50Ms
    p95Ms
    buckets {
      fromMs
      count
    }
  }
}
    `, {"fragmentName":"HistoryStep"}) as unknown as TypedDocumentString<HistoryStepFragment, unknown>;
export const KeyRow = /*#__PURE__*/ new TypedDocumentString(`
    fragment KeyRow on SerializeKey {
  key
  blocked
  held
  head {
    id
    status
    lastFailure {
      code
      message
    }
    job {
      type
    }
  }
}
    `, {"fragmentName":"KeyRow"}) as unknown as TypedDocumentString<KeyRowFragment, unknown>;
export const ScheduleRow = /*#__PURE__*/ new TypedDocumentString(`
    fragment ScheduleRow on Schedule {
  name
  cron
  timeZone
  everyMs
  changedAt
  pausedAt
  nextAt
  queued
  lastOccurrenceAt
  lastJob {
    id
  }
  lastSkip {
    at
    reason
  }
  lastFailure {
    at
    message
  }
}
    `, {"fragmentName":"ScheduleRow"}) as unknown as TypedDocumentString<ScheduleRowFragment, unknown>;
export const Standstill = /*#__PURE__*/ new TypedDocumentString(`
    fragment Standstill on Standstill {
  reason
  type
  itemCount
  hasMore
  until
  since
  limit
  code
  serializeKey
  cancelReason
  job {
    id
  }
  item {
    id
  }
  head {
    id
    status
    failures {
      code
      message
    }
  }
  waitsFor {
    id
    type
  }
}
    `, {"fragmentName":"Standstill"}) as unknown as TypedDocumentString<StandstillFragment, unknown>;
export const Refusal = /*#__PURE__*/ new TypedDocumentString(`
    fragment Refusal on UserError {
  code
  message
  field
}
    `, {"fragmentName":"Refusal"}) as unknown as TypedDocumentString<RefusalFragment, unknown>;
export const JobState = /*#__PURE__*/ new TypedDocumentString(`
    fragment JobState on JobProgress {
  jobId
  status
  outcome
  percent
  sealed
  itemCount
  itemProgress
  succeeded
  failed
  cancelled
  message
  startedAt
  completedAt
  revision
}
    `, {"fragmentName":"JobState"}) as unknown as TypedDocumentString<JobStateFragment, unknown>;
export const WorkerName = /*#__PURE__*/ new TypedDocumentString(`
    fragment WorkerName on Worker {
  name
  version
  connectedAt
}
    `, {"fragmentName":"WorkerName"}) as unknown as TypedDocumentString<WorkerNameFragment, unknown>;
export const HeldRow = /*#__PURE__*/ new TypedDocumentString(`
    fragment HeldRow on HeldItem {
  itemId
  type
  worker
  attempt
  claimedAt
  heartbeatAt
  slow
}
    `, {"fragmentName":"HeldRow"}) as unknown as TypedDocumentString<HeldRowFragment, unknown>;
export const LiveAuditEntries = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveAuditEntries($filter: AuditFilter!) {
  live {
    auditEntries(filter: $filter, first: 100) {
      edges {
        cursor
        node {
          ...AuditRow
        }
      }
    }
  }
}
    fragment AuditRow on AuditEntry {
  id
  at
  actor
  action
  outcome
  subjects
  address
}`) as unknown as TypedDocumentString<LiveAuditEntriesSubscription, LiveAuditEntriesSubscriptionVariables>;
export const AuditEntries = /*#__PURE__*/ new TypedDocumentString(`
    query AuditEntries($filter: AuditFilter!, $after: String!) {
  auditEntries(filter: $filter, first: 100, after: $after) {
    edges {
      cursor
      node {
        ...AuditRow
      }
    }
  }
}
    fragment AuditRow on AuditEntry {
  id
  at
  actor
  action
  outcome
  subjects
  address
}`) as unknown as TypedDocumentString<AuditEntriesQuery, AuditEntriesQueryVariables>;
export const Server = /*#__PURE__*/ new TypedDocumentString(`
    query Server {
  viewer {
    name
    tenant
    roles
    types
    expiresAt
  }
  server {
    version
    signIn
    transport
    maxRequestBytes
    maxJsonBytes
    maxUploadBytes
  }
}
    `) as unknown as TypedDocumentString<ServerQuery, ServerQueryVariables>;
export const LiveApiKeys = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveApiKeys {
  live {
    apiKeys(first: 1000) {
      ...ApiKeyRow
    }
  }
}
    fragment ApiKeyRow on ApiKey {
  id
  name
  roles
  tenant
  types
  createdAt
  createdBy
  expiresAt
  lastUsedAt
  revokedAt
}`) as unknown as TypedDocumentString<LiveApiKeysSubscription, LiveApiKeysSubscriptionVariables>;
export const ApiKeys = /*#__PURE__*/ new TypedDocumentString(`
    query ApiKeys($after: ID!) {
  apiKeys(first: 1000, after: $after) {
    ...ApiKeyRow
  }
}
    fragment ApiKeyRow on ApiKey {
  id
  name
  roles
  tenant
  types
  createdAt
  createdBy
  expiresAt
  lastUsedAt
  revokedAt
}`) as unknown as TypedDocumentString<ApiKeysQuery, ApiKeysQueryVariables>;
export const RevokeKey = /*#__PURE__*/ new TypedDocumentString(`
    mutation RevokeKey($input: RevokeApiKeyInput!) {
  revokeApiKey(input: $input) {
    ... on RevokeApiKeyPayload {
      apiKey {
        id
      }
    }
    ...Refusal
  }
}
    fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<RevokeKeyMutation, RevokeKeyMutationVariables>;
export const LiveCallbackDeliveries = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveCallbackDeliveries($filter: CallbackDeliveryFilter!) {
  live {
    callbackDeliveries(filter: $filter, first: 100) {
      edges {
        cursor
        node {
          ...CallbackDeliveryRow
        }
      }
    }
  }
}
    fragment CallbackDeliveryRow on CallbackDelivery {
  id
  endpoint
  event
  status
  createdAt
  attemptCount
  rootId
  attempts {
    at
    statusCode
    error
    tookMs
  }
}`) as unknown as TypedDocumentString<LiveCallbackDeliveriesSubscription, LiveCallbackDeliveriesSubscriptionVariables>;
export const CallbackDeliveries = /*#__PURE__*/ new TypedDocumentString(`
    query CallbackDeliveries($filter: CallbackDeliveryFilter!, $after: String!) {
  callbackDeliveries(filter: $filter, first: 100, after: $after) {
    edges {
      cursor
      node {
        ...CallbackDeliveryRow
      }
    }
  }
}
    fragment CallbackDeliveryRow on CallbackDelivery {
  id
  endpoint
  event
  status
  createdAt
  attemptCount
  rootId
  attempts {
    at
    statusCode
    error
    tookMs
  }
}`) as unknown as TypedDocumentString<CallbackDeliveriesQuery, CallbackDeliveriesQueryVariables>;
export const RetryDelivery = /*#__PURE__*/ new TypedDocumentString(`
    mutation RetryDelivery($input: RetryCallbackDeliveryInput!) {
  retryCallbackDelivery(input: $input) {
    ... on RetryCallbackDeliveryPayload {
      delivery {
        id
      }
    }
    ...Refusal
  }
}
    fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<RetryDeliveryMutation, RetryDeliveryMutationVariables>;
export const CallbackEndpoints = /*#__PURE__*/ new TypedDocumentString(`
    query CallbackEndpoints($after: String) {
  callbackEndpoints(first: 20, after: $after) {
    name
  }
}
    `) as unknown as TypedDocumentString<CallbackEndpointsQuery, CallbackEndpointsQueryVariables>;
export const AddCallbacks = /*#__PURE__*/ new TypedDocumentString(`
    mutation AddCallbacks($input: AddCallbacksInput!) {
  addCallbacks(input: $input) {
    ... on AddCallbacksPayload {
      job {
        id
      }
    }
    ...Refusal
  }
}
    fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<AddCallbacksMutation, AddCallbacksMutationVariables>;
export const LiveDeadLetterGroups = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveDeadLetterGroups($types: [String!], $codes: [String!]) {
  live {
    deadLetterGroups(first: 100, types: $types, codes: $codes) {
      ...GroupRow
    }
  }
}
    fragment GroupRow on DeadLetterGroup {
  id
  type
  code
  pattern
  count
  firstAt
  lastAt
  note
  notedAt
  history(steps: 24, stepMinutes: 60) {
    from
    count
  }
}`) as unknown as TypedDocumentString<LiveDeadLetterGroupsSubscription, LiveDeadLetterGroupsSubscriptionVariables>;
export const DeadLetterGroups = /*#__PURE__*/ new TypedDocumentString(`
    query DeadLetterGroups($types: [String!], $codes: [String!], $after: ID!) {
  deadLetterGroups(first: 100, types: $types, codes: $codes, after: $after) {
    ...GroupRow
  }
}
    fragment GroupRow on DeadLetterGroup {
  id
  type
  code
  pattern
  count
  firstAt
  lastAt
  note
  notedAt
  history(steps: 24, stepMinutes: 60) {
    from
    count
  }
}`) as unknown as TypedDocumentString<DeadLetterGroupsQuery, DeadLetterGroupsQueryVariables>;
export const LiveDeadLetterGroup = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveDeadLetterGroup($id: ID!) {
  live {
    node(id: $id) {
      ... on DeadLetterGroup {
        ...GroupRow
        example {
          id
          payload
          failures {
            at
            attempt
            code
            message
            stack
            worker
          }
        }
        items(first: 100) {
          ...DeadItemRow
        }
      }
    }
  }
}
    fragment GroupRow on DeadLetterGroup {
  id
  type
  code
  pattern
  count
  firstAt
  lastAt
  note
  notedAt
  history(steps: 24, stepMinutes: 60) {
    from
    count
  }
}
fragment DeadItemRow on JobItem {
  ...ItemRow
  payloadBeginning
}
fragment ItemRow on JobItem {
  id
  status
  failureCount
  createdAt
  finishedAt
  dedupeKey
  serializeKey
  note
  lastFailure {
    code
    message
  }
}`) as unknown as TypedDocumentString<LiveDeadLetterGroupSubscription, LiveDeadLetterGroupSubscriptionVariables>;
export const DeadItems = /*#__PURE__*/ new TypedDocumentString(`
    query DeadItems($id: ID!, $after: ID!) {
  node(id: $id) {
    ... on DeadLetterGroup {
      items(first: 100, after: $after) {
        ...DeadItemRow
      }
    }
  }
}
    fragment DeadItemRow on JobItem {
  ...ItemRow
  payloadBeginning
}
fragment ItemRow on JobItem {
  id
  status
  failureCount
  createdAt
  finishedAt
  dedupeKey
  serializeKey
  note
  lastFailure {
    code
    message
  }
}`) as unknown as TypedDocumentString<DeadItemsQuery, DeadItemsQueryVariables>;
export const TreeDeadLetters = /*#__PURE__*/ new TypedDocumentString(`
    query TreeDeadLetters($id: ID!) {
  job(id: $id) {
    treeDeadLetters {
      groups {
        groupId
        type
        code
        pattern
        count
      }
      hasMore
    }
  }
}
    `) as unknown as TypedDocumentString<TreeDeadLettersQuery, TreeDeadLettersQueryVariables>;
export const DeadLetterCount = /*#__PURE__*/ new TypedDocumentString(`
    query DeadLetterCount($filter: DeadLetterFilter!) {
  all: deadLetterCount(filter: $filter, replayable: false)
  replayable: deadLetterCount(filter: $filter, replayable: true)
}
    `) as unknown as TypedDocumentString<DeadLetterCountQuery, DeadLetterCountQueryVariables>;
export const Replay = /*#__PURE__*/ new TypedDocumentString(`
    mutation Replay($input: ReplayDeadLettersInput!) {
  replayDeadLetters(input: $input) {
    ... on ReplayDeadLettersPayload {
      operation {
        ...OperationState
      }
    }
    ...Refusal
  }
}
    fragment OperationState on Operation {
  id
  kind
  status
  done
  total
  skipped
  skippedReason
  requestedAt
  requestedBy
  finishedAt
  selection {
    jobId
    types
    codes
    groupIds
    itemIds
    itemCount
    dedupeKeyCount
    statuses
    from
    until
    hasPayload
    hasMore
  }
}
fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<ReplayMutation, ReplayMutationVariables>;
export const Discard = /*#__PURE__*/ new TypedDocumentString(`
    mutation Discard($input: DiscardDeadLettersInput!) {
  discardDeadLetters(input: $input) {
    ... on DiscardDeadLettersPayload {
      operation {
        ...OperationState
      }
    }
    ...Refusal
  }
}
    fragment OperationState on Operation {
  id
  kind
  status
  done
  total
  skipped
  skippedReason
  requestedAt
  requestedBy
  finishedAt
  selection {
    jobId
    types
    codes
    groupIds
    itemIds
    itemCount
    dedupeKeyCount
    statuses
    from
    until
    hasPayload
    hasMore
  }
}
fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<DiscardMutation, DiscardMutationVariables>;
export const Note = /*#__PURE__*/ new TypedDocumentString(`
    mutation Note($input: NoteDeadLettersInput!) {
  noteDeadLetters(input: $input) {
    ... on NoteDeadLettersPayload {
      group {
        id
      }
    }
    ...Refusal
  }
}
    fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<NoteMutation, NoteMutationVariables>;
export const GroupExamples = /*#__PURE__*/ new TypedDocumentString(`
    query GroupExamples($id: ID!) {
  node(id: $id) {
    ... on DeadLetterGroup {
      items(first: 3) {
        id
        payload
      }
    }
  }
}
    `) as unknown as TypedDocumentString<GroupExamplesQuery, GroupExamplesQueryVariables>;
export const DeadLetterExamples = /*#__PURE__*/ new TypedDocumentString(`
    query DeadLetterExamples($types: [String!], $codes: [String!]) {
  deadLetterGroups(first: 3, types: $types, codes: $codes) {
    example {
      id
      payload
    }
  }
}
    `) as unknown as TypedDocumentString<DeadLetterExamplesQuery, DeadLetterExamplesQueryVariables>;
export const JobExamples = /*#__PURE__*/ new TypedDocumentString(`
    query JobExamples($ids: [ID!]!) {
  nodes(ids: $ids) {
    ... on Job {
      items(first: 10, statuses: [FAILED]) {
        nodes {
          id
          payload
          deadLetterGroupId
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<JobExamplesQuery, JobExamplesQueryVariables>;
export const Trees = /*#__PURE__*/ new TypedDocumentString(`
    query Trees($filter: JobFilter!, $order: JobOrder!, $after: String) {
  jobs(filter: $filter, order: $order, first: 100, after: $after) {
    nodes {
      ...TreeRow
    }
    pageInfo {
      endCursor
      hasNextPage
    }
  }
}
    fragment TreeState on TreeProgress {
  rootId
  complete
  outcome
  percent
  itemCount
  itemProgress
  succeeded
  failed
  cancelled
  openJobs
  unsealedJobs
  revision
}
fragment TreeRow on Job {
  id
  type
  dedupeKey
  createdAt
  idleSince
  deletion {
    reaped
  }
  treeProgress {
    ...TreeState
  }
}`) as unknown as TypedDocumentString<TreesQuery, TreesQueryVariables>;
export const NewestTrees = /*#__PURE__*/ new TypedDocumentString(`
    subscription NewestTrees($filter: JobFilter!) {
  jobs(filter: $filter, first: 100, intervalMs: 1000) {
    goneIds
    jobs {
      ...TreeRow
    }
  }
}
    fragment TreeState on TreeProgress {
  rootId
  complete
  outcome
  percent
  itemCount
  itemProgress
  succeeded
  failed
  cancelled
  openJobs
  unsealedJobs
  revision
}
fragment TreeRow on Job {
  id
  type
  dedupeKey
  createdAt
  idleSince
  deletion {
    reaped
  }
  treeProgress {
    ...TreeState
  }
}`) as unknown as TypedDocumentString<NewestTreesSubscription, NewestTreesSubscriptionVariables>;
export const TreeChanges = /*#__PURE__*/ new TypedDocumentString(`
    subscription TreeChanges($rootId: ID!, $sinceRevision: String) {
  jobTreeProgress(
    rootId: $rootId
    sinceRevision: $sinceRevision
    intervalMs: 1000
  ) {
    rootId
    complete
    outcome
    percent
    itemCount
    itemProgress
    succeeded
    failed
    cancelled
    openJobs
    unsealedJobs
    revision
  }
}
    `) as unknown as TypedDocumentString<TreeChangesSubscription, TreeChangesSubscriptionVariables>;
export const CompleteTrees = /*#__PURE__*/ new TypedDocumentString(`
    subscription CompleteTrees($ids: [ID!]!) {
  live(intervalMs: 5000) {
    nodes(ids: $ids) {
      ... on Job {
        treeProgress {
          ...TreeState
        }
      }
    }
  }
}
    fragment TreeState on TreeProgress {
  rootId
  complete
  outcome
  percent
  itemCount
  itemProgress
  succeeded
  failed
  cancelled
  openJobs
  unsealedJobs
  revision
}`) as unknown as TypedDocumentString<CompleteTreesSubscription, CompleteTreesSubscriptionVariables>;
export const Viewer = /*#__PURE__*/ new TypedDocumentString(`
    query Viewer {
  viewer {
    name
    tenant
    roles
    permissions
    expiresAt
  }
}
    `) as unknown as TypedDocumentString<ViewerQuery, ViewerQueryVariables>;
export const LiveImports = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveImports {
  live {
    imports(first: 100) {
      edges {
        cursor
        node {
          ...ImportRow
        }
      }
    }
  }
}
    fragment ImportState on FileImport {
  uploadId
  status
  format
  size
  bytesRead
  items
  badLines
  startedAt
  finishedAt
  error {
    message
  }
}
fragment ImportRow on Job {
  id
  type
  createdAt
  root {
    id
  }
  import {
    name
    ...ImportState
  }
}`) as unknown as TypedDocumentString<LiveImportsSubscription, LiveImportsSubscriptionVariables>;
export const Imports = /*#__PURE__*/ new TypedDocumentString(`
    query Imports($after: String!) {
  imports(first: 100, after: $after) {
    edges {
      cursor
      node {
        ...ImportRow
      }
    }
  }
}
    fragment ImportState on FileImport {
  uploadId
  status
  format
  size
  bytesRead
  items
  badLines
  startedAt
  finishedAt
  error {
    message
  }
}
fragment ImportRow on Job {
  id
  type
  createdAt
  root {
    id
  }
  import {
    name
    ...ImportState
  }
}`) as unknown as TypedDocumentString<ImportsQuery, ImportsQueryVariables>;
export const LiveUploads = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveUploads {
  live {
    uploads(first: 100) {
      edges {
        cursor
        node {
          ...UploadRow
        }
      }
    }
  }
}
    fragment UploadRow on Upload {
  id
  name
  size
  length
  complete
  imported
  createdAt
  expiresAt
}`) as unknown as TypedDocumentString<LiveUploadsSubscription, LiveUploadsSubscriptionVariables>;
export const Uploads = /*#__PURE__*/ new TypedDocumentString(`
    query Uploads($after: String!) {
  uploads(first: 100, after: $after) {
    edges {
      cursor
      node {
        ...UploadRow
      }
    }
  }
}
    fragment UploadRow on Upload {
  id
  name
  size
  length
  complete
  imported
  createdAt
  expiresAt
}`) as unknown as TypedDocumentString<UploadsQuery, UploadsQueryVariables>;
export const FilePreview = /*#__PURE__*/ new TypedDocumentString(`
    query FilePreview($uploadId: ID!, $type: String, $format: FileFormat, $encoding: String, $delimiter: String, $header: Boolean) {
  filePreview(
    uploadId: $uploadId
    type: $type
    format: $format
    encoding: $encoding
    delimiter: $delimiter
    header: $header
  ) {
    format
    delimiter
    encoding
    problem
    rows {
      line
      payload
      problem
    }
  }
}
    `) as unknown as TypedDocumentString<FilePreviewQuery, FilePreviewQueryVariables>;
export const ImportFile = /*#__PURE__*/ new TypedDocumentString(`
    mutation ImportFile($input: JobInput!) {
  createJob(input: $input) {
    ... on CreateJobPayload {
      job {
        id
      }
    }
    ...Refusal
  }
}
    fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<ImportFileMutation, ImportFileMutationVariables>;
export const AddFile = /*#__PURE__*/ new TypedDocumentString(`
    mutation AddFile($input: ImportFileInput!) {
  importFile(input: $input) {
    ... on ImportFilePayload {
      job {
        id
      }
    }
    ...Refusal
  }
}
    fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<AddFileMutation, AddFileMutationVariables>;
export const ImportChanges = /*#__PURE__*/ new TypedDocumentString(`
    subscription ImportChanges($jobId: ID!) {
  jobProgress(jobId: $jobId, intervalMs: 250) {
    completedAt
    job {
      id
      import {
        ...ImportState
      }
    }
  }
}
    fragment ImportState on FileImport {
  uploadId
  status
  format
  size
  bytesRead
  items
  badLines
  startedAt
  finishedAt
  error {
    message
  }
}`) as unknown as TypedDocumentString<ImportChangesSubscription, ImportChangesSubscriptionVariables>;
export const BadLines = /*#__PURE__*/ new TypedDocumentString(`
    query BadLines($jobId: ID!, $after: String) {
  job(id: $jobId) {
    items(first: 1000, after: $after, statuses: [FAILED]) {
      nodes {
        payload
        failures {
          code
          message
        }
      }
      pageInfo {
        endCursor
        hasNextPage
      }
    }
  }
}
    `) as unknown as TypedDocumentString<BadLinesQuery, BadLinesQueryVariables>;
export const Items = /*#__PURE__*/ new TypedDocumentString(`
    query Items($jobId: ID!, $statuses: [ItemStatus!], $after: String) {
  job(id: $jobId) {
    items(first: 100, after: $after, statuses: $statuses) {
      nodes {
        ...ItemRow
      }
      pageInfo {
        endCursor
        hasNextPage
      }
    }
  }
}
    fragment ItemRow on JobItem {
  id
  status
  failureCount
  createdAt
  finishedAt
  dedupeKey
  serializeKey
  note
  lastFailure {
    code
    message
  }
}`) as unknown as TypedDocumentString<ItemsQuery, ItemsQueryVariables>;
export const SearchItems = /*#__PURE__*/ new TypedDocumentString(`
    query SearchItems($jobId: ID!, $path: String, $equals: String, $text: String, $codes: [String!], $dedupeKeys: [String!], $from: ID) {
  job(id: $jobId) {
    searchItems(
      path: $path
      equals: $equals
      text: $text
      codes: $codes
      dedupeKeys: $dedupeKeys
      from: $from
      first: 100
    ) {
      nodes {
        ...ItemRow
      }
      searched
      nextFrom
    }
  }
}
    fragment ItemRow on JobItem {
  id
  status
  failureCount
  createdAt
  finishedAt
  dedupeKey
  serializeKey
  note
  lastFailure {
    code
    message
  }
}`) as unknown as TypedDocumentString<SearchItemsQuery, SearchItemsQueryVariables>;
export const LiveItemRows = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveItemRows($ids: [ID!]!) {
  live {
    nodes(ids: $ids) {
      ... on JobItem {
        ...ItemRow
      }
    }
  }
}
    fragment ItemRow on JobItem {
  id
  status
  failureCount
  createdAt
  finishedAt
  dedupeKey
  serializeKey
  note
  lastFailure {
    code
    message
  }
}`) as unknown as TypedDocumentString<LiveItemRowsSubscription, LiveItemRowsSubscriptionVariables>;
export const AddItem = /*#__PURE__*/ new TypedDocumentString(`
    mutation AddItem($input: AddItemsInput!) {
  addItems(input: $input) {
    ... on AddItemsPayload {
      entries {
        status
        itemId
        error {
          message
        }
      }
    }
    ...Refusal
  }
}
    fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<AddItemMutation, AddItemMutationVariables>;
export const ItemRanges = /*#__PURE__*/ new TypedDocumentString(`
    query ItemRanges($jobId: ID!, $from: ID, $to: ID) {
  job(id: $jobId) {
    itemRanges(from: $from, to: $to, most: 600) {
      ranges {
        firstId
        lastId
        counts {
          status
          count
        }
      }
      nextFrom
    }
  }
}
    `) as unknown as TypedDocumentString<ItemRangesQuery, ItemRangesQueryVariables>;
export const PendingCounts = /*#__PURE__*/ new TypedDocumentString(`
    query PendingCounts($jobId: ID!) {
  job(id: $jobId) {
    pendingCounts {
      waiting
      blocked
      scheduled
      retrying
      ready
      running
      perSecond
      secondsLeft
    }
  }
}
    `) as unknown as TypedDocumentString<PendingCountsQuery, PendingCountsQueryVariables>;
export const LiveItem = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveItem($id: ID!) {
  live {
    item(id: $id) {
      id
      status
      payload
      result
      priority
      createdAt
      finishedAt
      runAt
      retryAt
      failureCount
      dedupeKey
      serializeKey
      note
      log {
        at
        attempt
        text
      }
      failures {
        at
        attempt
        code
        message
        stack
        worker
      }
      deadLetterGroupId
      traceContext {
        traceparent
      }
      standstills {
        ...Standstill
      }
      parentItem {
        id
        job {
          type
        }
      }
      childItems(first: 50) {
        ...ChildItems
      }
      assignment {
        id
        worker
        attempt
        claimedAt
        heartbeatAt
        deadlineAt
        slow
      }
      job {
        id
        type
        cancelledAt
        maxFailuresPerItem
        root {
          id
        }
      }
    }
  }
}
    fragment ChildItems on ChildItemConnection {
  nodes {
    id
    status
    job {
      type
    }
  }
  pageInfo {
    endCursor
    hasNextPage
  }
}
fragment Standstill on Standstill {
  reason
  type
  itemCount
  hasMore
  until
  since
  limit
  code
  serializeKey
  cancelReason
  job {
    id
  }
  item {
    id
  }
  head {
    id
    status
    failures {
      code
      message
    }
  }
  waitsFor {
    id
    type
  }
}`) as unknown as TypedDocumentString<LiveItemSubscription, LiveItemSubscriptionVariables>;
export const LiveChildItems = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveChildItems($id: ID!, $after: String) {
  live {
    item(id: $id) {
      childItems(first: 50, after: $after) {
        ...ChildItems
      }
    }
  }
}
    fragment ChildItems on ChildItemConnection {
  nodes {
    id
    status
    job {
      type
    }
  }
  pageInfo {
    endCursor
    hasNextPage
  }
}`) as unknown as TypedDocumentString<LiveChildItemsSubscription, LiveChildItemsSubscriptionVariables>;
export const ItemPayload = /*#__PURE__*/ new TypedDocumentString(`
    query ItemPayload($id: ID!) {
  item(id: $id) {
    payload
    job {
      type
    }
  }
}
    `) as unknown as TypedDocumentString<ItemPayloadQuery, ItemPayloadQueryVariables>;
export const PayloadSchemas = /*#__PURE__*/ new TypedDocumentString(`
    query PayloadSchemas($type: String!) {
  typeSchemas(type: $type) {
    version
    payload
  }
}
    `) as unknown as TypedDocumentString<PayloadSchemasQuery, PayloadSchemasQueryVariables>;
export const CancelItems = /*#__PURE__*/ new TypedDocumentString(`
    mutation CancelItems($input: CancelItemsInput!) {
  cancelItems(input: $input) {
    ... on CancelItemsPayload {
      operation {
        ...OperationState
      }
    }
    ...Refusal
  }
}
    fragment OperationState on Operation {
  id
  kind
  status
  done
  total
  skipped
  skippedReason
  requestedAt
  requestedBy
  finishedAt
  selection {
    jobId
    types
    codes
    groupIds
    itemIds
    itemCount
    dedupeKeyCount
    statuses
    from
    until
    hasPayload
    hasMore
  }
}
fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<CancelItemsMutation, CancelItemsMutationVariables>;
export const Promote = /*#__PURE__*/ new TypedDocumentString(`
    mutation Promote($input: PromoteItemsInput!) {
  promoteItems(input: $input) {
    ... on PromoteItemsPayload {
      operation {
        ...OperationState
      }
    }
    ...Refusal
  }
}
    fragment OperationState on Operation {
  id
  kind
  status
  done
  total
  skipped
  skippedReason
  requestedAt
  requestedBy
  finishedAt
  selection {
    jobId
    types
    codes
    groupIds
    itemIds
    itemCount
    dedupeKeyCount
    statuses
    from
    until
    hasPayload
    hasMore
  }
}
fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<PromoteMutation, PromoteMutationVariables>;
export const PendingItemCount = /*#__PURE__*/ new TypedDocumentString(`
    query PendingItemCount($filter: PendingItemFilter!) {
  pendingItemCount(filter: $filter)
}
    `) as unknown as TypedDocumentString<PendingItemCountQuery, PendingItemCountQueryVariables>;
export const UpdateItem = /*#__PURE__*/ new TypedDocumentString(`
    mutation UpdateItem($input: UpdateItemInput!) {
  updateItem(input: $input) {
    ... on UpdateItemPayload {
      item {
        id
      }
    }
    ...Refusal
  }
}
    fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<UpdateItemMutation, UpdateItemMutationVariables>;
export const LiveOperations = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveOperations {
  live {
    operations(first: 100) {
      edges {
        cursor
        node {
          ...OperationState
        }
      }
    }
  }
}
    fragment OperationState on Operation {
  id
  kind
  status
  done
  total
  skipped
  skippedReason
  requestedAt
  requestedBy
  finishedAt
  selection {
    jobId
    types
    codes
    groupIds
    itemIds
    itemCount
    dedupeKeyCount
    statuses
    from
    until
    hasPayload
    hasMore
  }
}`) as unknown as TypedDocumentString<LiveOperationsSubscription, LiveOperationsSubscriptionVariables>;
export const Operations = /*#__PURE__*/ new TypedDocumentString(`
    query Operations($after: String!) {
  operations(first: 100, after: $after) {
    edges {
      cursor
      node {
        ...OperationState
      }
    }
  }
}
    fragment OperationState on Operation {
  id
  kind
  status
  done
  total
  skipped
  skippedReason
  requestedAt
  requestedBy
  finishedAt
  selection {
    jobId
    types
    codes
    groupIds
    itemIds
    itemCount
    dedupeKeyCount
    statuses
    from
    until
    hasPayload
    hasMore
  }
}`) as unknown as TypedDocumentString<OperationsQuery, OperationsQueryVariables>;
export const CancelOperation = /*#__PURE__*/ new TypedDocumentString(`
    mutation CancelOperation($input: CancelOperationInput!) {
  cancelOperation(input: $input) {
    ... on CancelOperationPayload {
      operation {
        ...OperationState
      }
    }
    ...Refusal
  }
}
    fragment OperationState on Operation {
  id
  kind
  status
  done
  total
  skipped
  skippedReason
  requestedAt
  requestedBy
  finishedAt
  selection {
    jobId
    types
    codes
    groupIds
    itemIds
    itemCount
    dedupeKeyCount
    statuses
    from
    until
    hasPayload
    hasMore
  }
}
fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<CancelOperationMutation, CancelOperationMutationVariables>;
export const OperationChanges = /*#__PURE__*/ new TypedDocumentString(`
    subscription OperationChanges($operationId: ID!) {
  operationProgress(operationId: $operationId) {
    ...OperationState
  }
}
    fragment OperationState on Operation {
  id
  kind
  status
  done
  total
  skipped
  skippedReason
  requestedAt
  requestedBy
  finishedAt
  selection {
    jobId
    types
    codes
    groupIds
    itemIds
    itemCount
    dedupeKeyCount
    statuses
    from
    until
    hasPayload
    hasMore
  }
}`) as unknown as TypedDocumentString<OperationChangesSubscription, OperationChangesSubscriptionVariables>;
export const LiveQueueNames = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveQueueNames($find: String) {
  live(intervalMs: 2000) {
    queueTotal(nameContains: $find) {
      typeCount
      ready
      running
      scheduled
      retrying
      waiting
      blocked
      ...RecentFigures
    }
    queues(first: 1000, nameContains: $find) {
      type
    }
  }
}
    fragment RecentFigures on Workload {
  figures(lastMinutes: 5) {
    claimedPerSecond
    perSecond
    deadRate
    wait {
      p50Ms
      p95Ms
    }
    processing {
      p50Ms
      p95Ms
    }
  }
}`) as unknown as TypedDocumentString<LiveQueueNamesSubscription, LiveQueueNamesSubscriptionVariables>;
export const QueueNames = /*#__PURE__*/ new TypedDocumentString(`
    query QueueNames($find: String, $after: String!) {
  queues(first: 1000, nameContains: $find, after: $after) {
    type
  }
}
    `) as unknown as TypedDocumentString<QueueNamesQuery, QueueNamesQueryVariables>;
export const LiveQueues = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveQueues($types: [String!]!) {
  live(intervalMs: 2000) {
    queues(types: $types) {
      ...QueueState
      ...RecentFigures
      standstills {
        reason
        until
        since
        limit
      }
    }
  }
}
    fragment QueueState on Queue {
  type
  paused
  ready
  running
  scheduled
  retrying
  waiting
  blocked
  concurrency
  rate {
    limit
    intervalMs
  }
}
fragment RecentFigures on Workload {
  figures(lastMinutes: 5) {
    claimedPerSecond
    perSecond
    deadRate
    wait {
      p50Ms
      p95Ms
    }
    processing {
      p50Ms
      p95Ms
    }
  }
}`) as unknown as TypedDocumentString<LiveQueuesSubscription, LiveQueuesSubscriptionVariables>;
export const LiveQueue = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveQueue($type: String!) {
  live {
    queue(type: $type) {
      ...QueueState
      ...RecentFigures
      oldestReadyMs
      slow
      slowAfterMs
      lifetimeMs
      standstills {
        ...Standstill
      }
    }
    workers(first: 1000, types: [$type]) {
      name
    }
  }
}
    fragment QueueState on Queue {
  type
  paused
  ready
  running
  scheduled
  retrying
  waiting
  blocked
  concurrency
  rate {
    limit
    intervalMs
  }
}
fragment RecentFigures on Workload {
  figures(lastMinutes: 5) {
    claimedPerSecond
    perSecond
    deadRate
    wait {
      p50Ms
      p95Ms
    }
    processing {
      p50Ms
      p95Ms
    }
  }
}
fragment Standstill on Standstill {
  reason
  type
  itemCount
  hasMore
  until
  since
  limit
  code
  serializeKey
  cancelReason
  job {
    id
  }
  item {
    id
  }
  head {
    id
    status
    failures {
      code
      message
    }
  }
  waitsFor {
    id
    type
  }
}`) as unknown as TypedDocumentString<LiveQueueSubscription, LiveQueueSubscriptionVariables>;
export const DeadLettersOfType = /*#__PURE__*/ new TypedDocumentString(`
    query DeadLettersOfType($type: String!) {
  deadLetterCount(filter: {types: [$type]})
}
    `) as unknown as TypedDocumentString<DeadLettersOfTypeQuery, DeadLettersOfTypeQueryVariables>;
export const LiveQueueHistory = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveQueueHistory($type: String!, $minutes: Int!, $step: Int!) {
  live(intervalMs: 10000) {
    queue(type: $type) {
      history(lastMinutes: $minutes, stepMinutes: $step) {
        ...HistoryStep
      }
    }
  }
}
    fragment HistoryStep on QueueFigures {
  from
  until
  claimed
  succeeded
  failed
  dead
  wait {
    p50Ms
    p95Ms
    buckets {
      fromMs
      count
    }
  }
  processing {
    p50Ms
    p95Ms
    buckets {
      fromMs
      count
    }
  }
}`) as unknown as TypedDocumentString<LiveQueueHistorySubscription, LiveQueueHistorySubscriptionVariables>;
export const LiveTotalHistory = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveTotalHistory($find: String, $minutes: Int!, $step: Int!) {
  live(intervalMs: 10000) {
    queueTotal(nameContains: $find) {
      history(lastMinutes: $minutes, stepMinutes: $step) {
        ...HistoryStep
      }
    }
  }
}
    fragment HistoryStep on QueueFigures {
  from
  until
  claimed
  succeeded
  failed
  dead
  wait {
    p50Ms
    p95Ms
    buckets {
      fromMs
      count
    }
  }
  processing {
    p50Ms
    p95Ms
    buckets {
      fromMs
      count
    }
  }
}`) as unknown as TypedDocumentString<LiveTotalHistorySubscription, LiveTotalHistorySubscriptionVariables>;
export const SetQueue = /*#__PURE__*/ new TypedDocumentString(`
    mutation SetQueue($input: SetQueueInput!) {
  setQueue(input: $input) {
    ... on SetQueuePayload {
      queue {
        type
      }
    }
    ...Refusal
  }
}
    fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<SetQueueMutation, SetQueueMutationVariables>;
export const LiveSerializeKeys = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveSerializeKeys {
  live {
    serializeKeys(first: 200) {
      ...KeyRow
    }
  }
}
    fragment KeyRow on SerializeKey {
  key
  blocked
  held
  head {
    id
    status
    lastFailure {
      code
      message
    }
    job {
      type
    }
  }
}`) as unknown as TypedDocumentString<LiveSerializeKeysSubscription, LiveSerializeKeysSubscriptionVariables>;
export const SerializeKeys = /*#__PURE__*/ new TypedDocumentString(`
    query SerializeKeys($after: SerializeKeyPlaceInput!) {
  serializeKeys(first: 200, after: $after) {
    ...KeyRow
  }
}
    fragment KeyRow on SerializeKey {
  key
  blocked
  held
  head {
    id
    status
    lastFailure {
      code
      message
    }
    job {
      type
    }
  }
}`) as unknown as TypedDocumentString<SerializeKeysQuery, SerializeKeysQueryVariables>;
export const FindKey = /*#__PURE__*/ new TypedDocumentString(`
    query FindKey($key: String!) {
  serializeKeys(keys: [$key]) {
    key
    blocked
    head {
      id
    }
  }
}
    `) as unknown as TypedDocumentString<FindKeyQuery, FindKeyQueryVariables>;
export const LiveSchedules = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveSchedules {
  live {
    schedules(first: 100) {
      edges {
        cursor
        node {
          ...ScheduleRow
        }
      }
    }
  }
}
    fragment ScheduleRow on Schedule {
  name
  cron
  timeZone
  everyMs
  changedAt
  pausedAt
  nextAt
  queued
  lastOccurrenceAt
  lastJob {
    id
  }
  lastSkip {
    at
    reason
  }
  lastFailure {
    at
    message
  }
}`) as unknown as TypedDocumentString<LiveSchedulesSubscription, LiveSchedulesSubscriptionVariables>;
export const Schedules = /*#__PURE__*/ new TypedDocumentString(`
    query Schedules($after: String!) {
  schedules(first: 100, after: $after) {
    edges {
      cursor
      node {
        ...ScheduleRow
      }
    }
  }
}
    fragment ScheduleRow on Schedule {
  name
  cron
  timeZone
  everyMs
  changedAt
  pausedAt
  nextAt
  queued
  lastOccurrenceAt
  lastJob {
    id
  }
  lastSkip {
    at
    reason
  }
  lastFailure {
    at
    message
  }
}`) as unknown as TypedDocumentString<SchedulesQuery, SchedulesQueryVariables>;
export const ScheduleCalendar = /*#__PURE__*/ new TypedDocumentString(`
    query ScheduleCalendar($from: DateTime!, $until: DateTime!, $first: Int!, $after: String) {
  schedules(first: 100, after: $after) {
    nodes {
      ...ScheduleRow
      nextOccurrences(first: $first, from: $from, until: $until, whilePaused: true)
    }
    pageInfo {
      endCursor
      hasNextPage
    }
  }
}
    fragment ScheduleRow on Schedule {
  name
  cron
  timeZone
  everyMs
  changedAt
  pausedAt
  nextAt
  queued
  lastOccurrenceAt
  lastJob {
    id
  }
  lastSkip {
    at
    reason
  }
  lastFailure {
    at
    message
  }
}`) as unknown as TypedDocumentString<ScheduleCalendarQuery, ScheduleCalendarQueryVariables>;
export const RunSchedule = /*#__PURE__*/ new TypedDocumentString(`
    mutation RunSchedule($input: RunScheduleInput!) {
  runSchedule(input: $input) {
    ... on RunSchedulePayload {
      job {
        id
      }
    }
    ...Refusal
  }
}
    fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<RunScheduleMutation, RunScheduleMutationVariables>;
export const SkipOccurrence = /*#__PURE__*/ new TypedDocumentString(`
    mutation SkipOccurrence($input: SkipOccurrenceInput!) {
  skipOccurrence(input: $input) {
    ... on SkipOccurrencePayload {
      schedule {
        name
      }
    }
    ...Refusal
  }
}
    fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<SkipOccurrenceMutation, SkipOccurrenceMutationVariables>;
export const PauseSchedule = /*#__PURE__*/ new TypedDocumentString(`
    mutation PauseSchedule($input: PauseScheduleInput!) {
  pauseSchedule(input: $input) {
    ... on PauseSchedulePayload {
      schedule {
        name
      }
    }
    ...Refusal
  }
}
    fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<PauseScheduleMutation, PauseScheduleMutationVariables>;
export const ResumeSchedule = /*#__PURE__*/ new TypedDocumentString(`
    mutation ResumeSchedule($input: ResumeScheduleInput!) {
  resumeSchedule(input: $input) {
    ... on ResumeSchedulePayload {
      schedule {
        name
      }
    }
    ...Refusal
  }
}
    fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<ResumeScheduleMutation, ResumeScheduleMutationVariables>;
export const TreeStandstills = /*#__PURE__*/ new TypedDocumentString(`
    query TreeStandstills($id: ID!) {
  job(id: $id) {
    treeStandstills {
      ...Standstill
    }
  }
}
    fragment Standstill on Standstill {
  reason
  type
  itemCount
  hasMore
  until
  since
  limit
  code
  serializeKey
  cancelReason
  job {
    id
  }
  item {
    id
  }
  head {
    id
    status
    failures {
      code
      message
    }
  }
  waitsFor {
    id
    type
  }
}`) as unknown as TypedDocumentString<TreeStandstillsQuery, TreeStandstillsQueryVariables>;
export const LiveServers = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveServers {
  live(intervalMs: 5000) {
    servers {
      host
      process
      version
      transport
      connectedAt
      seenAt
    }
  }
}
    `) as unknown as TypedDocumentString<LiveServersSubscription, LiveServersSubscriptionVariables>;
export const LiveFindings = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveFindings {
  live {
    findings {
      check
      status
      message
      since
      advice
    }
  }
}
    `) as unknown as TypedDocumentString<LiveFindingsSubscription, LiveFindingsSubscriptionVariables>;
export const JobChanges = /*#__PURE__*/ new TypedDocumentString(`
    subscription JobChanges($rootId: ID!, $sinceRevision: String) {
  jobTreeProgress(rootId: $rootId, sinceRevision: $sinceRevision, intervalMs: 250) {
    rootId
    complete
    outcome
    percent
    itemCount
    itemProgress
    succeeded
    failed
    cancelled
    openJobs
    unsealedJobs
    revision
    jobs {
      ...JobState
    }
  }
}
    fragment JobState on JobProgress {
  jobId
  status
  outcome
  percent
  sealed
  itemCount
  itemProgress
  succeeded
  failed
  cancelled
  message
  startedAt
  completedAt
  revision
}`) as unknown as TypedDocumentString<JobChangesSubscription, JobChangesSubscriptionVariables>;
export const LiveCompletion = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveCompletion($id: ID!) {
  live {
    job(id: $id) {
      treeProgress {
        complete
      }
    }
  }
}
    `) as unknown as TypedDocumentString<LiveCompletionSubscription, LiveCompletionSubscriptionVariables>;
export const Tree = /*#__PURE__*/ new TypedDocumentString(`
    query Tree($id: ID!) {
  job(id: $id) {
    id
    type
    root {
      id
      type
      dedupeKey
      createdAt
      reapAt
      retentionSeconds
      callbacks {
        endpoint
        on
      }
      occurrence {
        at
        schedule
      }
      tree {
        id
        type
        depth
        waitsForJobs
        parent {
          id
        }
        after {
          id
          type
        }
        feed {
          source
        }
        import {
          ...ImportState
        }
        progress {
          ...JobState
        }
      }
    }
  }
}
    fragment ImportState on FileImport {
  uploadId
  status
  format
  size
  bytesRead
  items
  badLines
  startedAt
  finishedAt
  error {
    message
  }
}
fragment JobState on JobProgress {
  jobId
  status
  outcome
  percent
  sealed
  itemCount
  itemProgress
  succeeded
  failed
  cancelled
  message
  startedAt
  completedAt
  revision
}`) as unknown as TypedDocumentString<TreeQuery, TreeQueryVariables>;
export const Seal = /*#__PURE__*/ new TypedDocumentString(`
    mutation Seal($input: SealJobInput!) {
  sealJob(input: $input) {
    ... on SealJobPayload {
      job {
        id
      }
    }
    ...Refusal
  }
}
    fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<SealMutation, SealMutationVariables>;
export const CancelJob = /*#__PURE__*/ new TypedDocumentString(`
    mutation CancelJob($input: CancelJobInput!) {
  cancelJob(input: $input) {
    ... on CancelJobPayload {
      job {
        id
      }
    }
    ...Refusal
  }
}
    fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<CancelJobMutation, CancelJobMutationVariables>;
export const DeleteJob = /*#__PURE__*/ new TypedDocumentString(`
    mutation DeleteJob($input: DeleteJobInput!) {
  deleteJob(input: $input) {
    ... on DeleteJobPayload {
      deleted
    }
    ...Refusal
  }
}
    fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<DeleteJobMutation, DeleteJobMutationVariables>;
export const TreeCount = /*#__PURE__*/ new TypedDocumentString(`
    query TreeCount($filter: JobFilter!, $buckets: Int!) {
  jobCount(filter: $filter, buckets: $buckets) {
    count
    since
    buckets {
      from
      until
      count
    }
  }
}
    `) as unknown as TypedDocumentString<TreeCountQuery, TreeCountQueryVariables>;
export const Find = /*#__PURE__*/ new TypedDocumentString(`
    query Find($type: String!, $dedupeKey: String!) {
  jobByDedupeKey(type: $type, dedupeKey: $dedupeKey) {
    id
  }
}
    `) as unknown as TypedDocumentString<FindQuery, FindQueryVariables>;
export const Types = /*#__PURE__*/ new TypedDocumentString(`
    query Types($find: String, $named: [String!]) {
  found: queues(first: 20, nameContains: $find) {
    type
  }
  named: queues(first: 20, types: $named) {
    type
  }
}
    `) as unknown as TypedDocumentString<TypesQuery, TypesQueryVariables>;
export const CancelTrees = /*#__PURE__*/ new TypedDocumentString(`
    mutation CancelTrees($input: CancelTreesInput!) {
  cancelTrees(input: $input) {
    ... on CancelTreesPayload {
      operation {
        ...OperationState
      }
    }
    ...Refusal
  }
}
    fragment OperationState on Operation {
  id
  kind
  status
  done
  total
  skipped
  skippedReason
  requestedAt
  requestedBy
  finishedAt
  selection {
    jobId
    types
    codes
    groupIds
    itemIds
    itemCount
    dedupeKeyCount
    statuses
    from
    until
    hasPayload
    hasMore
  }
}
fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<CancelTreesMutation, CancelTreesMutationVariables>;
export const DeleteTrees = /*#__PURE__*/ new TypedDocumentString(`
    mutation DeleteTrees($input: DeleteTreesInput!) {
  deleteTrees(input: $input) {
    ... on DeleteTreesPayload {
      operation {
        ...OperationState
      }
    }
    ...Refusal
  }
}
    fragment OperationState on Operation {
  id
  kind
  status
  done
  total
  skipped
  skippedReason
  requestedAt
  requestedBy
  finishedAt
  selection {
    jobId
    types
    codes
    groupIds
    itemIds
    itemCount
    dedupeKeyCount
    statuses
    from
    until
    hasPayload
    hasMore
  }
}
fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<DeleteTreesMutation, DeleteTreesMutationVariables>;
export const SetRetention = /*#__PURE__*/ new TypedDocumentString(`
    mutation SetRetention($input: SetRetentionInput!) {
  setRetention(input: $input) {
    ... on SetRetentionPayload {
      job {
        id
      }
    }
    ...Refusal
  }
}
    fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<SetRetentionMutation, SetRetentionMutationVariables>;
export const WatchedTree = /*#__PURE__*/ new TypedDocumentString(`
    query WatchedTree($id: ID!) {
  job(id: $id) {
    type
    tree {
      id
      type
      parent {
        id
      }
    }
  }
}
    `) as unknown as TypedDocumentString<WatchedTreeQuery, WatchedTreeQueryVariables>;
export const WatchedCompletion = /*#__PURE__*/ new TypedDocumentString(`
    query WatchedCompletion($id: ID!) {
  job(id: $id) {
    treeProgress {
      complete
    }
  }
}
    `) as unknown as TypedDocumentString<WatchedCompletionQuery, WatchedCompletionQueryVariables>;
export const WatchedResults = /*#__PURE__*/ new TypedDocumentString(`
    query WatchedResults($id: ID!, $after: String) {
  job(id: $id) {
    results(first: 100, after: $after) {
      nodes {
        result
      }
      pageInfo {
        endCursor
        hasNextPage
      }
    }
  }
}
    `) as unknown as TypedDocumentString<WatchedResultsQuery, WatchedResultsQueryVariables>;
export const ShareTree = /*#__PURE__*/ new TypedDocumentString(`
    mutation ShareTree($input: CreateWatchTokenInput!) {
  createWatchToken(input: $input) {
    ... on CreateWatchTokenPayload {
      token
      expiresAt
    }
    ...Refusal
  }
}
    fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<ShareTreeMutation, ShareTreeMutationVariables>;
export const RevokeShares = /*#__PURE__*/ new TypedDocumentString(`
    mutation RevokeShares($input: RevokeWatchTokensInput!) {
  revokeWatchTokens(input: $input) {
    ... on RevokeWatchTokensPayload {
      revokedAt
    }
    ...Refusal
  }
}
    fragment Refusal on UserError {
  code
  message
  field
}`) as unknown as TypedDocumentString<RevokeSharesMutation, RevokeSharesMutationVariables>;
export const LiveWorkerNames = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveWorkerNames {
  live(intervalMs: 2000) {
    workers(first: 1000) {
      ...WorkerName
    }
  }
}
    fragment WorkerName on Worker {
  name
  version
  connectedAt
}`) as unknown as TypedDocumentString<LiveWorkerNamesSubscription, LiveWorkerNamesSubscriptionVariables>;
export const WorkerNames = /*#__PURE__*/ new TypedDocumentString(`
    query WorkerNames($after: String!) {
  workers(first: 1000, after: $after) {
    ...WorkerName
  }
}
    fragment WorkerName on Worker {
  name
  version
  connectedAt
}`) as unknown as TypedDocumentString<WorkerNamesQuery, WorkerNamesQueryVariables>;
export const LiveWorkers = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveWorkers($after: String, $first: Int!) {
  live(intervalMs: 2000) {
    workers(first: $first, after: $after) {
      name
      types {
        type
        concurrency
        holds
      }
    }
  }
}
    `) as unknown as TypedDocumentString<LiveWorkersSubscription, LiveWorkersSubscriptionVariables>;
export const LiveHeldItems = /*#__PURE__*/ new TypedDocumentString(`
    subscription LiveHeldItems($slowOnly: Boolean!, $types: [String!], $workers: [String!]) {
  live {
    heldItems(first: 200, slowOnly: $slowOnly, types: $types, workers: $workers) {
      ...HeldRow
    }
  }
}
    fragment HeldRow on HeldItem {
  itemId
  type
  worker
  attempt
  claimedAt
  heartbeatAt
  slow
}`) as unknown as TypedDocumentString<LiveHeldItemsSubscription, LiveHeldItemsSubscriptionVariables>;
export const HeldItems = /*#__PURE__*/ new TypedDocumentString(`
    query HeldItems($slowOnly: Boolean!, $types: [String!], $workers: [String!], $after: HeldItemPlaceInput!) {
  heldItems(
    first: 200
    slowOnly: $slowOnly
    types: $types
    workers: $workers
    after: $after
  ) {
    ...HeldRow
  }
}
    fragment HeldRow on HeldItem {
  itemId
  type
  worker
  attempt
  claimedAt
  heartbeatAt
  slow
}`) as unknown as TypedDocumentString<HeldItemsQuery, HeldItemsQueryVariables>;