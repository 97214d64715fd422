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

export type CreateJobMutationVariables = Exact<{
  input: JobInput;
}>;


export type CreateJobMutation = { createJob?:
    | { created: boolean, job: { id: string } }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type CreateJobsMutationVariables = Exact<{
  inputs: Array<JobInput> | JobInput;
}>;


export type CreateJobsMutation = { createJobs?:
    | { entries: Array<{ jobId?: string | null, created: boolean, error?: { code: ErrorCode, message: string, field?: string | null } | null }> }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type AddItemsMutationVariables = Exact<{
  input: AddItemsInput;
  all: Scalars['Boolean']['input'];
}>;


export type AddItemsMutation = { addItems?:
    | { added: number, duplicates: number, invalid: number, entries: Array<{ index?: number, status: AddStatus, itemId?: string | null, error?: { message: string } | null }> }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type SealJobMutationVariables = Exact<{
  input: SealJobInput;
}>;


export type SealJobMutation = { sealJob?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { job: { progress: { jobId: string, status: JobStatus, message: string, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number, percent?: number | null, sealed: boolean, revision: string, startedAt?: string | null, completedAt?: string | null, outcome?: JobOutcome | null, cancelReason?: CancelReason | null, completions: number } } }
   | null };

export type CancelJobMutationVariables = Exact<{
  input: CancelJobInput;
}>;


export type CancelJobMutation = { cancelJob?:
    | { job: { id: string } }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type CancelItemsMutationVariables = Exact<{
  input: CancelItemsInput;
}>;


export type CancelItemsMutation = { cancelItems?:
    | { operation: { id: string, kind: OperationKind, status: OperationStatus, total: number, done: number, skipped: number, skippedReason?: string | null, requestedAt: string, requestedBy?: string | null, finishedAt?: string | null } }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type PromoteItemsMutationVariables = Exact<{
  input: PromoteItemsInput;
}>;


export type PromoteItemsMutation = { promoteItems?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { operation: { id: string, kind: OperationKind, status: OperationStatus, total: number, done: number, skipped: number, skippedReason?: string | null, requestedAt: string, requestedBy?: string | null, finishedAt?: string | null } }
   | null };

export type UpdateItemMutationVariables = Exact<{
  input: UpdateItemInput;
}>;


export type UpdateItemMutation = { updateItem?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null, reason: NotUpdatableReason }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { item: { id: string, status: ItemStatus, payload?: unknown | null, result?: unknown | null, failureCount: number, note?: string | null, priority: number, runAt?: string | null, retryAt?: string | null, dedupeKey?: string | null, serializeKey?: string | null, createdAt: string, finishedAt?: string | null, failures: Array<{ attempt: number, code: string, message: string, worker?: string | null, at: string, stack?: string | null }>, log: Array<{ attempt: number, at: string, text: string }>, parentItem?: { id: string } | null, blockedBy?: { id: string } | null, assignment?: { id: string, worker: string, attempt: number, claimedAt: string, heartbeatAt: string, deadlineAt: string } | null } }
   | null };

export type SetRetentionMutationVariables = Exact<{
  input: SetRetentionInput;
}>;


export type SetRetentionMutation = { setRetention?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { job: { id: string, type: string, depth: number, dedupeKey?: string | null, priority: number, runAt?: string | null, maxFailuresPerItem: number, backoffMs: Array<number>, backoffJitter: number, heartbeatIntervalMs: number, toleratedFailureCount?: number | null, toleratedFailurePercentage?: number | null, serializeOnFailure: SerializeOnFailure, finalStage: boolean, waitsForJobs: boolean, createdAt: string, sealedAt?: string | null, failedAt?: string | null, cancelledAt?: string | null, cancelReason?: CancelReason | null, retentionSeconds?: number | null, reapAt?: string | null, idleExpirySeconds?: number | null, idleSince?: string | null, treeOutcome?: JobOutcome | null, root: { id: string }, parent?: { id: string } | null, feed?: { source: FeedSource, forEach?: string | null, payload?: unknown | null, serializeKey?: string | null } | null, import?: { error?: { code: FileErrorCode, message: string } | null } | null, occurrence?: { schedule: string, at: string } | null, progress: { jobId: string, status: JobStatus, message: string, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number, percent?: number | null, sealed: boolean, revision: string, startedAt?: string | null, completedAt?: string | null, outcome?: JobOutcome | null, cancelReason?: CancelReason | null, completions: number } } }
   | null };

export type CreateWatchTokenMutationVariables = Exact<{
  input: CreateWatchTokenInput;
}>;


export type CreateWatchTokenMutation = { createWatchToken?:
    | { token: string, expiresAt: string }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type RevokeWatchTokensMutationVariables = Exact<{
  input: RevokeWatchTokensInput;
}>;


export type RevokeWatchTokensMutation = { revokeWatchTokens?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { revokedAt: string }
   | null };

export type DeleteJobMutationVariables = Exact<{
  input: DeleteJobInput;
}>;


export type DeleteJobMutation = { deleteJob?:
    | { deleted: boolean }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type ReplayDeadLettersMutationVariables = Exact<{
  input: ReplayDeadLettersInput;
}>;


export type ReplayDeadLettersMutation = { replayDeadLetters?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { operation: { id: string, kind: OperationKind, status: OperationStatus, total: number, done: number, skipped: number, skippedReason?: string | null, requestedAt: string, requestedBy?: string | null, finishedAt?: string | null } }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type DiscardDeadLettersMutationVariables = Exact<{
  input: DiscardDeadLettersInput;
}>;


export type DiscardDeadLettersMutation = { discardDeadLetters?:
    | { operation: { id: string, kind: OperationKind, status: OperationStatus, total: number, done: number, skipped: number, skippedReason?: string | null, requestedAt: string, requestedBy?: string | null, finishedAt?: string | null } }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type NoteDeadLettersMutationVariables = Exact<{
  input: NoteDeadLettersInput;
}>;


export type NoteDeadLettersMutation = { noteDeadLetters?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { group: { id: string } }
   | null };

export type CancelOperationMutationVariables = Exact<{
  input: CancelOperationInput;
}>;


export type CancelOperationMutation = { cancelOperation?:
    | { operation: { id: string, kind: OperationKind, status: OperationStatus, total: number, done: number, skipped: number, skippedReason?: string | null, requestedAt: string, requestedBy?: string | null, finishedAt?: string | null } }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type OperationQueryVariables = Exact<{
  id: Scalars['ID']['input'];
}>;


export type OperationQuery = { node?:
    | { id: string, kind: OperationKind, status: OperationStatus, total: number, done: number, skipped: number, skippedReason?: string | null, requestedAt: string, requestedBy?: string | null, finishedAt?: string | null }
    | Record<PropertyKey, never>
   | null };

export type DeadLetterGroupsQueryVariables = Exact<{
  types?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
}>;


export type DeadLetterGroupsQuery = { deadLetterGroups?: Array<{ id: string, type: string, code: string, pattern: string, count: number, firstAt: string, lastAt: string, note?: string | null, notedAt?: string | null, example?: { id: string, job: { id: string } } | null }> | null };

export type DeadLetterGroupQueryVariables = Exact<{
  id: Scalars['ID']['input'];
  first?: InputMaybe<Scalars['Int']['input']>;
}>;


export type DeadLetterGroupQuery = { node?:
    | { id: string, type: string, code: string, pattern: string, count: number, firstAt: string, lastAt: string, note?: string | null, notedAt?: string | null, items: Array<{ id: string, status: ItemStatus, payload?: unknown | null, result?: unknown | null, failureCount: number, note?: string | null, priority: number, runAt?: string | null, retryAt?: string | null, dedupeKey?: string | null, serializeKey?: string | null, createdAt: string, finishedAt?: string | null, job: { id: string, type: string }, failures: Array<{ attempt: number, code: string, message: string, worker?: string | null, at: string, stack?: string | null }>, log: Array<{ attempt: number, at: string, text: string }>, parentItem?: { id: string } | null, blockedBy?: { id: string } | null, assignment?: { id: string, worker: string, attempt: number, claimedAt: string, heartbeatAt: string, deadlineAt: string } | null }> }
    | Record<PropertyKey, never>
   | null };

export type DeadLetterDigestQueryVariables = Exact<{
  since: Scalars['DateTime']['input'];
  types?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
}>;


export type DeadLetterDigestQuery = { deadLetterDigest?: Array<{ count: number, group: { id: string, type: string, code: string, pattern: string, count: number, firstAt: string, lastAt: string, note?: string | null, notedAt?: string | null } }> | null };

export type DeadLetterCountQueryVariables = Exact<{
  filter: DeadLetterFilter;
  replayable: Scalars['Boolean']['input'];
}>;


export type DeadLetterCountQuery = { deadLetterCount?: number | null };

export type CancelTreesMutationVariables = Exact<{
  input: CancelTreesInput;
}>;


export type CancelTreesMutation = { cancelTrees?:
    | { operation: { id: string, kind: OperationKind, status: OperationStatus, total: number, done: number, skipped: number, skippedReason?: string | null, requestedAt: string, requestedBy?: string | null, finishedAt?: string | null } }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type DeleteTreesMutationVariables = Exact<{
  input: DeleteTreesInput;
}>;


export type DeleteTreesMutation = { deleteTrees?:
    | { operation: { id: string, kind: OperationKind, status: OperationStatus, total: number, done: number, skipped: number, skippedReason?: string | null, requestedAt: string, requestedBy?: string | null, finishedAt?: string | null } }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type JobCountQueryVariables = Exact<{
  filter?: InputMaybe<JobFilter>;
}>;


export type JobCountQuery = { jobCount?: { count: number, since?: string | null } | null };

export type PendingItemCountQueryVariables = Exact<{
  filter: PendingItemFilter;
}>;


export type PendingItemCountQuery = { pendingItemCount?: number | null };

export type OperationFieldsFragment = { id: string, kind: OperationKind, status: OperationStatus, total: number, done: number, skipped: number, skippedReason?: string | null, requestedAt: string, requestedBy?: string | null, finishedAt?: string | null };

export type ProgressFieldsFragment = { jobId: string, status: JobStatus, message: string, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number, percent?: number | null, sealed: boolean, revision: string, startedAt?: string | null, completedAt?: string | null, outcome?: JobOutcome | null, cancelReason?: CancelReason | null, completions: number };

export type JobFieldsFragment = { id: string, type: string, depth: number, dedupeKey?: string | null, priority: number, runAt?: string | null, maxFailuresPerItem: number, backoffMs: Array<number>, backoffJitter: number, heartbeatIntervalMs: number, toleratedFailureCount?: number | null, toleratedFailurePercentage?: number | null, serializeOnFailure: SerializeOnFailure, finalStage: boolean, waitsForJobs: boolean, createdAt: string, sealedAt?: string | null, failedAt?: string | null, cancelledAt?: string | null, cancelReason?: CancelReason | null, retentionSeconds?: number | null, reapAt?: string | null, idleExpirySeconds?: number | null, idleSince?: string | null, treeOutcome?: JobOutcome | null, root: { id: string }, parent?: { id: string } | null, feed?: { source: FeedSource, forEach?: string | null, payload?: unknown | null, serializeKey?: string | null } | null, import?: { error?: { code: FileErrorCode, message: string } | null } | null, occurrence?: { schedule: string, at: string } | null, progress: { jobId: string, status: JobStatus, message: string, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number, percent?: number | null, sealed: boolean, revision: string, startedAt?: string | null, completedAt?: string | null, outcome?: JobOutcome | null, cancelReason?: CancelReason | null, completions: number } };

export type ItemFieldsFragment = { id: string, status: ItemStatus, payload?: unknown | null, result?: unknown | null, failureCount: number, note?: string | null, priority: number, runAt?: string | null, retryAt?: string | null, dedupeKey?: string | null, serializeKey?: string | null, createdAt: string, finishedAt?: string | null, failures: Array<{ attempt: number, code: string, message: string, worker?: string | null, at: string, stack?: string | null }>, log: Array<{ attempt: number, at: string, text: string }>, parentItem?: { id: string } | null, blockedBy?: { id: string } | null, assignment?: { id: string, worker: string, attempt: number, claimedAt: string, heartbeatAt: string, deadlineAt: string } | null };

export type TreeFieldsFragment = { revision: string, openJobs: number, complete: boolean, stage: number, stageCount: number, message: string, outcome?: JobOutcome | null, percent?: number | null, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number };

export type JobQueryVariables = Exact<{
  id: Scalars['ID']['input'];
}>;


export type JobQuery = { job?: { id: string, type: string, depth: number, dedupeKey?: string | null, priority: number, runAt?: string | null, maxFailuresPerItem: number, backoffMs: Array<number>, backoffJitter: number, heartbeatIntervalMs: number, toleratedFailureCount?: number | null, toleratedFailurePercentage?: number | null, serializeOnFailure: SerializeOnFailure, finalStage: boolean, waitsForJobs: boolean, createdAt: string, sealedAt?: string | null, failedAt?: string | null, cancelledAt?: string | null, cancelReason?: CancelReason | null, retentionSeconds?: number | null, reapAt?: string | null, idleExpirySeconds?: number | null, idleSince?: string | null, treeOutcome?: JobOutcome | null, treeProgress?: { revision: string, openJobs: number, complete: boolean, stage: number, stageCount: number, message: string, outcome?: JobOutcome | null, percent?: number | null, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number } | null, children: Array<{ id: string }>, after: Array<{ id: string }>, callbacks: Array<{ endpoint: string, on: CallbackTrigger }>, deletion?: { requestedAt: string, reaped: boolean, itemCount: number, deletedItems: number } | null, import?: { status: FileImportStatus, uploadId: string, format: FileFormat, size: number, bytesRead: number, items: number, badLines: number, startedAt?: string | null, finishedAt?: string | null, error?: { code: FileErrorCode, message: string } | null } | null, root: { id: string }, parent?: { id: string } | null, feed?: { source: FeedSource, forEach?: string | null, payload?: unknown | null, serializeKey?: string | null } | null, occurrence?: { schedule: string, at: string } | null, progress: { jobId: string, status: JobStatus, message: string, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number, percent?: number | null, sealed: boolean, revision: string, startedAt?: string | null, completedAt?: string | null, outcome?: JobOutcome | null, cancelReason?: CancelReason | null, completions: number } } | null };

export type JobByDedupeKeyQueryVariables = Exact<{
  type: Scalars['String']['input'];
  dedupeKey: Scalars['String']['input'];
}>;


export type JobByDedupeKeyQuery = { jobByDedupeKey?: { id: string, type: string, depth: number, dedupeKey?: string | null, priority: number, runAt?: string | null, maxFailuresPerItem: number, backoffMs: Array<number>, backoffJitter: number, heartbeatIntervalMs: number, toleratedFailureCount?: number | null, toleratedFailurePercentage?: number | null, serializeOnFailure: SerializeOnFailure, finalStage: boolean, waitsForJobs: boolean, createdAt: string, sealedAt?: string | null, failedAt?: string | null, cancelledAt?: string | null, cancelReason?: CancelReason | null, retentionSeconds?: number | null, reapAt?: string | null, idleExpirySeconds?: number | null, idleSince?: string | null, treeOutcome?: JobOutcome | null, root: { id: string }, parent?: { id: string } | null, feed?: { source: FeedSource, forEach?: string | null, payload?: unknown | null, serializeKey?: string | null } | null, import?: { error?: { code: FileErrorCode, message: string } | null } | null, occurrence?: { schedule: string, at: string } | null, progress: { jobId: string, status: JobStatus, message: string, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number, percent?: number | null, sealed: boolean, revision: string, startedAt?: string | null, completedAt?: string | null, outcome?: JobOutcome | null, cancelReason?: CancelReason | null, completions: number } } | null };

export type JobsWithTreesQueryVariables = Exact<{
  filter?: InputMaybe<JobFilter>;
  order?: InputMaybe<JobOrder>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type JobsWithTreesQuery = { jobs?: { edges: Array<{ node: { id: string, type: string, depth: number, dedupeKey?: string | null, priority: number, runAt?: string | null, maxFailuresPerItem: number, backoffMs: Array<number>, backoffJitter: number, heartbeatIntervalMs: number, toleratedFailureCount?: number | null, toleratedFailurePercentage?: number | null, serializeOnFailure: SerializeOnFailure, finalStage: boolean, waitsForJobs: boolean, createdAt: string, sealedAt?: string | null, failedAt?: string | null, cancelledAt?: string | null, cancelReason?: CancelReason | null, retentionSeconds?: number | null, reapAt?: string | null, idleExpirySeconds?: number | null, idleSince?: string | null, treeOutcome?: JobOutcome | null, treeProgress?: { revision: string, openJobs: number, complete: boolean, stage: number, stageCount: number, message: string, outcome?: JobOutcome | null, percent?: number | null, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number } | null, root: { id: string }, parent?: { id: string } | null, feed?: { source: FeedSource, forEach?: string | null, payload?: unknown | null, serializeKey?: string | null } | null, import?: { error?: { code: FileErrorCode, message: string } | null } | null, occurrence?: { schedule: string, at: string } | null, progress: { jobId: string, status: JobStatus, message: string, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number, percent?: number | null, sealed: boolean, revision: string, startedAt?: string | null, completedAt?: string | null, outcome?: JobOutcome | null, cancelReason?: CancelReason | null, completions: number } } }>, pageInfo: { endCursor?: string | null, hasNextPage: boolean } } | null };

export type JobsQueryVariables = Exact<{
  filter?: InputMaybe<JobFilter>;
  order?: InputMaybe<JobOrder>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type JobsQuery = { jobs?: { edges: Array<{ node: { id: string, type: string, depth: number, dedupeKey?: string | null, priority: number, runAt?: string | null, maxFailuresPerItem: number, backoffMs: Array<number>, backoffJitter: number, heartbeatIntervalMs: number, toleratedFailureCount?: number | null, toleratedFailurePercentage?: number | null, serializeOnFailure: SerializeOnFailure, finalStage: boolean, waitsForJobs: boolean, createdAt: string, sealedAt?: string | null, failedAt?: string | null, cancelledAt?: string | null, cancelReason?: CancelReason | null, retentionSeconds?: number | null, reapAt?: string | null, idleExpirySeconds?: number | null, idleSince?: string | null, treeOutcome?: JobOutcome | null, root: { id: string }, parent?: { id: string } | null, feed?: { source: FeedSource, forEach?: string | null, payload?: unknown | null, serializeKey?: string | null } | null, import?: { error?: { code: FileErrorCode, message: string } | null } | null, occurrence?: { schedule: string, at: string } | null, progress: { jobId: string, status: JobStatus, message: string, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number, percent?: number | null, sealed: boolean, revision: string, startedAt?: string | null, completedAt?: string | null, outcome?: JobOutcome | null, cancelReason?: CancelReason | null, completions: number } } }>, pageInfo: { endCursor?: string | null, hasNextPage: boolean } } | null };

export type ItemQueryVariables = Exact<{
  id: Scalars['ID']['input'];
}>;


export type ItemQuery = { item?: { id: string, status: ItemStatus, payload?: unknown | null, result?: unknown | null, failureCount: number, note?: string | null, priority: number, runAt?: string | null, retryAt?: string | null, dedupeKey?: string | null, serializeKey?: string | null, createdAt: string, finishedAt?: string | null, failures: Array<{ attempt: number, code: string, message: string, worker?: string | null, at: string, stack?: string | null }>, log: Array<{ attempt: number, at: string, text: string }>, parentItem?: { id: string } | null, blockedBy?: { id: string } | null, assignment?: { id: string, worker: string, attempt: number, claimedAt: string, heartbeatAt: string, deadlineAt: string } | null } | null };

export type StandstillFieldsFragment = { reason: StandstillReason, message: string, type: string, itemCount: number, hasMore: boolean, serializeKey?: string | null, until?: string | null, since?: string | null, limit?: number | null, code?: string | null, cancelReason?: CancelReason | null, job?: { id: string } | null, item?: { id: string } | null, head?: { id: string, status: ItemStatus } | null, waitsFor: Array<{ id: string, type: string }> };

export type StandstillsQueryVariables = Exact<{
  id: Scalars['ID']['input'];
}>;


export type StandstillsQuery = { node?:
    | { parent?: { id: string } | null, ofJob: Array<{ reason: StandstillReason, message: string, type: string, itemCount: number, hasMore: boolean, serializeKey?: string | null, until?: string | null, since?: string | null, limit?: number | null, code?: string | null, cancelReason?: CancelReason | null, job?: { id: string } | null, item?: { id: string } | null, head?: { id: string, status: ItemStatus } | null, waitsFor: Array<{ id: string, type: string }> }>, ofTree?: Array<{ reason: StandstillReason, message: string, type: string, itemCount: number, hasMore: boolean, serializeKey?: string | null, until?: string | null, since?: string | null, limit?: number | null, code?: string | null, cancelReason?: CancelReason | null, job?: { id: string } | null, item?: { id: string } | null, head?: { id: string, status: ItemStatus } | null, waitsFor: Array<{ id: string, type: string }> }> | null }
    | { standstills: Array<{ reason: StandstillReason, message: string, type: string, itemCount: number, hasMore: boolean, serializeKey?: string | null, until?: string | null, since?: string | null, limit?: number | null, code?: string | null, cancelReason?: CancelReason | null, job?: { id: string } | null, item?: { id: string } | null, head?: { id: string, status: ItemStatus } | null, waitsFor: Array<{ id: string, type: string }> }> }
    | Record<PropertyKey, never>
   | null };

export type QueueStandstillsQueryVariables = Exact<{
  type: Scalars['String']['input'];
}>;


export type QueueStandstillsQuery = { queue?: { standstills: Array<{ reason: StandstillReason, message: string, type: string, itemCount: number, hasMore: boolean, serializeKey?: string | null, until?: string | null, since?: string | null, limit?: number | null, code?: string | null, cancelReason?: CancelReason | null, job?: { id: string } | null, item?: { id: string } | null, head?: { id: string, status: ItemStatus } | null, waitsFor: Array<{ id: string, type: string }> }> } | null };

export type ItemsQueryVariables = Exact<{
  jobId: Scalars['ID']['input'];
  statuses?: InputMaybe<Array<ItemStatus> | ItemStatus>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type ItemsQuery = { job?: { items: { edges: Array<{ node: { id: string, status: ItemStatus, payload?: unknown | null, result?: unknown | null, failureCount: number, note?: string | null, priority: number, runAt?: string | null, retryAt?: string | null, dedupeKey?: string | null, serializeKey?: string | null, createdAt: string, finishedAt?: string | null, failures: Array<{ attempt: number, code: string, message: string, worker?: string | null, at: string, stack?: string | null }>, log: Array<{ attempt: number, at: string, text: string }>, parentItem?: { id: string } | null, blockedBy?: { id: string } | null, assignment?: { id: string, worker: string, attempt: number, claimedAt: string, heartbeatAt: string, deadlineAt: string } | null } }>, pageInfo: { endCursor?: string | null, hasNextPage: boolean } } } | null };

export type SearchItemsQueryVariables = Exact<{
  jobId: Scalars['ID']['input'];
  path?: InputMaybe<Scalars['String']['input']>;
  equals?: InputMaybe<Scalars['String']['input']>;
  text?: InputMaybe<Scalars['String']['input']>;
  codes?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
  dedupeKeys?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
  from?: InputMaybe<Scalars['ID']['input']>;
  first: Scalars['Int']['input'];
}>;


export type SearchItemsQuery = { job?: { searchItems: { searched: number, nextFrom?: string | null, nodes: Array<{ id: string, status: ItemStatus, payload?: unknown | null, result?: unknown | null, failureCount: number, note?: string | null, priority: number, runAt?: string | null, retryAt?: string | null, dedupeKey?: string | null, serializeKey?: string | null, createdAt: string, finishedAt?: string | null, failures: Array<{ attempt: number, code: string, message: string, worker?: string | null, at: string, stack?: string | null }>, log: Array<{ attempt: number, at: string, text: string }>, parentItem?: { id: string } | null, blockedBy?: { id: string } | null, assignment?: { id: string, worker: string, attempt: number, claimedAt: string, heartbeatAt: string, deadlineAt: string } | null }> } } | null };

export type JobResultsQueryVariables = Exact<{
  jobId: Scalars['ID']['input'];
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type JobResultsQuery = { job?: { items: { edges: Array<{ node: { id: string, payload?: unknown | null, result?: unknown | null } }>, pageInfo: { endCursor?: string | null, hasNextPage: boolean } } } | null };

export type ResultsQueryVariables = Exact<{
  jobId: Scalars['ID']['input'];
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type ResultsQuery = { job?: { results: { edges: Array<{ node: { id: string, payload?: unknown | null, result?: unknown | null } }>, pageInfo: { endCursor?: string | null, hasNextPage: boolean } } } | null };

export type ScheduleFieldsFragment = { name: string, cron?: string | null, timeZone?: string | null, everyMs?: number | null, startAt?: string | null, missed: MissedPolicy, overlap: OverlapPolicy, template?: unknown | null, createdAt: string, changedAt: string, pausedAt?: string | null, nextAt?: string | null, nextOccurrences: Array<string>, queued: Array<string>, lastOccurrenceAt?: string | null, behindMs: number, lastJob?: { id: string, progress: { status: JobStatus } } | null, lastSkip?: { at: string, reason: SkipReason } | null, lastFailure?: { at: string, message: string } | null };

export type ScheduleQueryVariables = Exact<{
  name: Scalars['String']['input'];
}>;


export type ScheduleQuery = { schedule?: { name: string, cron?: string | null, timeZone?: string | null, everyMs?: number | null, startAt?: string | null, missed: MissedPolicy, overlap: OverlapPolicy, template?: unknown | null, createdAt: string, changedAt: string, pausedAt?: string | null, nextAt?: string | null, nextOccurrences: Array<string>, queued: Array<string>, lastOccurrenceAt?: string | null, behindMs: number, lastJob?: { id: string, progress: { status: JobStatus } } | null, lastSkip?: { at: string, reason: SkipReason } | null, lastFailure?: { at: string, message: string } | null } | null };

export type SchedulesQueryVariables = Exact<{
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type SchedulesQuery = { schedules?: { edges: Array<{ node: { name: string, cron?: string | null, timeZone?: string | null, everyMs?: number | null, startAt?: string | null, missed: MissedPolicy, overlap: OverlapPolicy, template?: unknown | null, createdAt: string, changedAt: string, pausedAt?: string | null, nextAt?: string | null, nextOccurrences: Array<string>, queued: Array<string>, lastOccurrenceAt?: string | null, behindMs: number, lastJob?: { id: string, progress: { status: JobStatus } } | null, lastSkip?: { at: string, reason: SkipReason } | null, lastFailure?: { at: string, message: string } | null } }>, pageInfo: { endCursor?: string | null, hasNextPage: boolean } } | null };

export type PutScheduleMutationVariables = Exact<{
  input: ScheduleInput;
}>;


export type PutScheduleMutation = { putSchedule?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { created: boolean, changed: boolean, schedule: { name: string, cron?: string | null, timeZone?: string | null, everyMs?: number | null, startAt?: string | null, missed: MissedPolicy, overlap: OverlapPolicy, template?: unknown | null, createdAt: string, changedAt: string, pausedAt?: string | null, nextAt?: string | null, nextOccurrences: Array<string>, queued: Array<string>, lastOccurrenceAt?: string | null, behindMs: number, lastJob?: { id: string, progress: { status: JobStatus } } | null, lastSkip?: { at: string, reason: SkipReason } | null, lastFailure?: { at: string, message: string } | null } }
   | null };

export type SyncSchedulesMutationVariables = Exact<{
  input: SyncSchedulesInput;
}>;


export type SyncSchedulesMutation = { syncSchedules?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { created: Array<string>, changed: Array<string>, deleted: Array<string> }
   | null };

export type PauseScheduleMutationVariables = Exact<{
  input: PauseScheduleInput;
}>;


export type PauseScheduleMutation = { pauseSchedule?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { schedule: { name: string, cron?: string | null, timeZone?: string | null, everyMs?: number | null, startAt?: string | null, missed: MissedPolicy, overlap: OverlapPolicy, template?: unknown | null, createdAt: string, changedAt: string, pausedAt?: string | null, nextAt?: string | null, nextOccurrences: Array<string>, queued: Array<string>, lastOccurrenceAt?: string | null, behindMs: number, lastJob?: { id: string, progress: { status: JobStatus } } | null, lastSkip?: { at: string, reason: SkipReason } | null, lastFailure?: { at: string, message: string } | null } }
   | null };

export type ResumeScheduleMutationVariables = Exact<{
  input: ResumeScheduleInput;
}>;


export type ResumeScheduleMutation = { resumeSchedule?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { schedule: { name: string, cron?: string | null, timeZone?: string | null, everyMs?: number | null, startAt?: string | null, missed: MissedPolicy, overlap: OverlapPolicy, template?: unknown | null, createdAt: string, changedAt: string, pausedAt?: string | null, nextAt?: string | null, nextOccurrences: Array<string>, queued: Array<string>, lastOccurrenceAt?: string | null, behindMs: number, lastJob?: { id: string, progress: { status: JobStatus } } | null, lastSkip?: { at: string, reason: SkipReason } | null, lastFailure?: { at: string, message: string } | null } }
   | null };

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
    | { skipped?: string | null, schedule: { name: string, cron?: string | null, timeZone?: string | null, everyMs?: number | null, startAt?: string | null, missed: MissedPolicy, overlap: OverlapPolicy, template?: unknown | null, createdAt: string, changedAt: string, pausedAt?: string | null, nextAt?: string | null, nextOccurrences: Array<string>, queued: Array<string>, lastOccurrenceAt?: string | null, behindMs: number, lastJob?: { id: string, progress: { status: JobStatus } } | null, lastSkip?: { at: string, reason: SkipReason } | null, lastFailure?: { at: string, message: string } | null } }
   | null };

export type DeleteScheduleMutationVariables = Exact<{
  input: DeleteScheduleInput;
}>;


export type DeleteScheduleMutation = { deleteSchedule?:
    | { name: string }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type ClaimItemMutationVariables = Exact<{
  input: ClaimItemInput;
}>;


export type ClaimItemMutation = { claimItem?:
    | { assignment: { id: string, itemId: string, jobId: string, type: string, attempt: number, lastAttempt: boolean, suspect: boolean, lostBefore: boolean, hasSerializeKey: boolean, payload?: unknown | null, heartbeatIntervalMs: number } }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null, reason: NotClaimableReason }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type ExchangeMutationVariables = Exact<{
  input: ExchangeInput;
}>;


export type ExchangeMutation = { exchange?:
    | { limitedTypes: Array<string>, reported: { entries: Array<{ index: number, status: ReportStatus, retryAt?: string | null, error?: { message: string, field?: string | null } | null }> }, assignments: Array<{ id: string, itemId: string, jobId: string, type: string, attempt: number, lastAttempt: boolean, suspect: boolean, lostBefore: boolean, hasSerializeKey: boolean, payload?: unknown | null, heartbeatIntervalMs: number }>, claimError?: { code: ErrorCode, message: string, field?: string | null } | null }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type ExchangePartsMutationVariables = Exact<{
  reports?: InputMaybe<ReportOutcomesInput>;
  withReports: Scalars['Boolean']['input'];
  releases?: InputMaybe<ReleaseAssignmentsInput>;
  withReleases: Scalars['Boolean']['input'];
  claims?: InputMaybe<ClaimItemsInput>;
  withClaims: Scalars['Boolean']['input'];
  notes?: InputMaybe<NoteItemsInput>;
  withNotes?: InputMaybe<Scalars['Boolean']['input']>;
}>;


export type ExchangePartsMutation = { noteItems?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { noted: number }
   | null, reportOutcomes?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { entries: Array<{ index: number, status: ReportStatus, retryAt?: string | null, error?: { message: string, field?: string | null } | null }> }
   | null, releaseAssignments?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { entries: Array<{ status: ReleaseStatus, error?: { message: string } | null }> }
   | null, claimItems?:
    | { limitedTypes: Array<string>, assignments: Array<{ id: string, itemId: string, jobId: string, type: string, attempt: number, lastAttempt: boolean, suspect: boolean, lostBefore: boolean, hasSerializeKey: boolean, payload?: unknown | null, heartbeatIntervalMs: number }> }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type QueueFieldsFragment = { type: string, ready: number, scheduled: number, retrying: number, waiting: number, blocked: number, running: number, oldestReadyMs?: number | null, paused: boolean, concurrency?: number | null, lifetimeMs?: number | null, alertedAt?: string | null, priority?: number | null, maxFailuresPerItem?: number | null, backoffMs?: Array<number> | null, backoffJitter?: number | null, heartbeatIntervalMs?: number | null, rate?: { limit: number, intervalMs: number } | null, deadLetterAlert?: { endpoint: string, count: number, intervalMs: number } | null };

export type SetQueueMutationVariables = Exact<{
  input: SetQueueInput;
}>;


export type SetQueueMutation = { setQueue?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { queue: { type: string, ready: number, scheduled: number, retrying: number, waiting: number, blocked: number, running: number, oldestReadyMs?: number | null, paused: boolean, concurrency?: number | null, lifetimeMs?: number | null, alertedAt?: string | null, priority?: number | null, maxFailuresPerItem?: number | null, backoffMs?: Array<number> | null, backoffJitter?: number | null, heartbeatIntervalMs?: number | null, rate?: { limit: number, intervalMs: number } | null, deadLetterAlert?: { endpoint: string, count: number, intervalMs: number } | null } }
   | null };

export type QueueQueryVariables = Exact<{
  type: Scalars['String']['input'];
}>;


export type QueueQuery = { queue?: { type: string, ready: number, scheduled: number, retrying: number, waiting: number, blocked: number, running: number, oldestReadyMs?: number | null, paused: boolean, concurrency?: number | null, lifetimeMs?: number | null, alertedAt?: string | null, priority?: number | null, maxFailuresPerItem?: number | null, backoffMs?: Array<number> | null, backoffJitter?: number | null, heartbeatIntervalMs?: number | null, rate?: { limit: number, intervalMs: number } | null, deadLetterAlert?: { endpoint: string, count: number, intervalMs: number } | null } | null };

export type QueuesQueryVariables = Exact<{
  types?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type QueuesQuery = { queues?: Array<{ type: string, ready: number, scheduled: number, retrying: number, waiting: number, blocked: number, running: number, oldestReadyMs?: number | null, paused: boolean, concurrency?: number | null, lifetimeMs?: number | null, alertedAt?: string | null, priority?: number | null, maxFailuresPerItem?: number | null, backoffMs?: Array<number> | null, backoffJitter?: number | null, heartbeatIntervalMs?: number | null, rate?: { limit: number, intervalMs: number } | null, deadLetterAlert?: { endpoint: string, count: number, intervalMs: number } | null }> | null };

export type TypesWithSchemasQueryVariables = Exact<{
  first: Scalars['Int']['input'];
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type TypesWithSchemasQuery = { typesWithSchemas?: Array<string> | null };

export type TypeSchemasQueryVariables = Exact<{
  type: Scalars['String']['input'];
}>;


export type TypeSchemasQuery = { typeSchemas?: Array<{ type: string, version: number, payload?: unknown | null, result?: unknown | null, createdAt: string }> | null };

export type PutTypeSchemaMutationVariables = Exact<{
  input: PutTypeSchemaInput;
}>;


export type PutTypeSchemaMutation = { putTypeSchema?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { created: boolean }
   | null };

export type DeleteTypeSchemaMutationVariables = Exact<{
  input: DeleteTypeSchemaInput;
}>;


export type DeleteTypeSchemaMutation = { deleteTypeSchema?:
    | { deleted: boolean }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type QueueFiguresQueryVariables = Exact<{
  types?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  lastMinutes?: InputMaybe<Scalars['Int']['input']>;
}>;


export type QueueFiguresQuery = { queues?: Array<{ slow: number, slowAfterMs?: number | null, type: string, ready: number, scheduled: number, retrying: number, waiting: number, blocked: number, running: number, oldestReadyMs?: number | null, paused: boolean, concurrency?: number | null, lifetimeMs?: number | null, alertedAt?: string | null, priority?: number | null, maxFailuresPerItem?: number | null, backoffMs?: Array<number> | null, backoffJitter?: number | null, heartbeatIntervalMs?: number | null, figures: { from: string, until: string, claimed: number, succeeded: number, failed: number, lost: number, dead: number, deadRate?: number | null, perSecond: number, wait: { count: number, p50Ms?: number | null, p95Ms?: number | null, p99Ms?: number | null }, processing: { count: number, p50Ms?: number | null, p95Ms?: number | null, p99Ms?: number | null } }, rate?: { limit: number, intervalMs: number } | null, deadLetterAlert?: { endpoint: string, count: number, intervalMs: number } | null }> | null };

export type HeldItemsQueryVariables = Exact<{
  types?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
  workers?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
  slowOnly?: InputMaybe<Scalars['Boolean']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<HeldItemPlaceInput>;
}>;


export type HeldItemsQuery = { heldItems?: Array<{ assignmentId?: string | null, itemId: string, type: string, worker: string, attempt: number, claimedAt: string, heartbeatAt: string, heldMs: number, slow: boolean }> | null };

export type WorkersQueryVariables = Exact<{
  types?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type WorkersQuery = { workers?: Array<{ name: string, version?: string | null, connectedAt?: string | null, seenAt: string, types: Array<{ type: string, concurrency?: number | null, holds: number }> }> | null };

export type EndpointFieldsFragment = { name: string, url: string, createdAt: string, previousSecretUntil?: string | null, goneAt?: string | null };

export type DeliveryFieldsFragment = { id: string, messageId: string, endpoint: string, event: CallbackEvent, status: CallbackDeliveryStatus, rootId?: string | null, body: unknown, createdAt: string, dueAt?: string | null, deliveredAt?: string | null, failedAt?: string | null, attemptCount: number, attempts: Array<{ at: string, tookMs?: number | null, statusCode?: number | null, error?: string | null }> };

export type PutCallbackEndpointMutationVariables = Exact<{
  input: PutCallbackEndpointInput;
}>;


export type PutCallbackEndpointMutation = { putCallbackEndpoint?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { secret?: string | null, endpoint: { name: string, url: string, createdAt: string, previousSecretUntil?: string | null, goneAt?: string | null } }
   | null };

export type RotateCallbackSecretMutationVariables = Exact<{
  input: RotateCallbackSecretInput;
}>;


export type RotateCallbackSecretMutation = { rotateCallbackSecret?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { secret: string, endpoint: { name: string, url: string, createdAt: string, previousSecretUntil?: string | null, goneAt?: string | null } }
   | null };

export type DeleteCallbackEndpointMutationVariables = Exact<{
  input: DeleteCallbackEndpointInput;
}>;


export type DeleteCallbackEndpointMutation = { deleteCallbackEndpoint?:
    | { name: string }
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type RetryCallbackDeliveryMutationVariables = Exact<{
  input: RetryCallbackDeliveryInput;
}>;


export type RetryCallbackDeliveryMutation = { retryCallbackDelivery?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { code: ErrorCode, message: string, field?: string | null }
    | { delivery: { id: string, messageId: string, endpoint: string, event: CallbackEvent, status: CallbackDeliveryStatus, rootId?: string | null, body: unknown, createdAt: string, dueAt?: string | null, deliveredAt?: string | null, failedAt?: string | null, attemptCount: number, attempts: Array<{ at: string, tookMs?: number | null, statusCode?: number | null, error?: string | null }> } }
   | null };

export type CallbackEndpointsQueryVariables = Exact<{
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type CallbackEndpointsQuery = { callbackEndpoints?: Array<{ name: string, url: string, createdAt: string, previousSecretUntil?: string | null, goneAt?: string | null }> | null };

export type CallbackDeliveryQueryVariables = Exact<{
  id: Scalars['ID']['input'];
}>;


export type CallbackDeliveryQuery = { node?:
    | { id: string, messageId: string, endpoint: string, event: CallbackEvent, status: CallbackDeliveryStatus, rootId?: string | null, body: unknown, createdAt: string, dueAt?: string | null, deliveredAt?: string | null, failedAt?: string | null, attemptCount: number, attempts: Array<{ at: string, tookMs?: number | null, statusCode?: number | null, error?: string | null }> }
    | Record<PropertyKey, never>
   | null };

export type CallbackDeliveriesQueryVariables = Exact<{
  filter?: InputMaybe<CallbackDeliveryFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type CallbackDeliveriesQuery = { callbackDeliveries?: { edges: Array<{ node: { id: string, messageId: string, endpoint: string, event: CallbackEvent, status: CallbackDeliveryStatus, rootId?: string | null, body: unknown, createdAt: string, dueAt?: string | null, deliveredAt?: string | null, failedAt?: string | null, attemptCount: number, attempts: Array<{ at: string, tookMs?: number | null, statusCode?: number | null, error?: string | null }> } }>, pageInfo: { endCursor?: string | null, hasNextPage: boolean } } | null };

export type AuditEntriesQueryVariables = Exact<{
  filter?: InputMaybe<AuditFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type AuditEntriesQuery = { auditEntries?: { edges: Array<{ node: { id: string, at: string, actor: string, action: string, subjects: Array<string>, address: string, outcome: string } }>, pageInfo: { endCursor?: string | null, hasNextPage: boolean } } | null };

export type SerializeKeysQueryVariables = Exact<{
  first?: InputMaybe<Scalars['Int']['input']>;
  keys?: InputMaybe<Array<Scalars['String']['input']> | Scalars['String']['input']>;
  after?: InputMaybe<SerializeKeyPlaceInput>;
}>;


export type SerializeKeysQuery = { serializeKeys?: Array<{ key: string, held: boolean, blocked: number, head?: { id: string, failureCount: number, job: { id: string, type: string }, assignment?: { worker: string } | null } | null }> | null };

export type HeartbeatMutationVariables = Exact<{
  input: HeartbeatInput;
}>;


export type HeartbeatMutation = { heartbeat?:
    | { entries: Array<{ status: HeartbeatStatus, error?: { message: string } | null }> }
    | { code: ErrorCode, message: string, field?: string | null }
   | null };

export type NoteItemsMutationVariables = Exact<{
  input: NoteItemsInput;
}>;


export type NoteItemsMutation = { noteItems?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { noted: number }
   | null };

export type HeartbeatWithNotesMutationVariables = Exact<{
  input: HeartbeatInput;
  notes: NoteItemsInput;
}>;


export type HeartbeatWithNotesMutation = { heartbeat?:
    | { entries: Array<{ status: HeartbeatStatus, error?: { message: string } | null }> }
    | { code: ErrorCode, message: string, field?: string | null }
   | null, noteItems?:
    | { code: ErrorCode, message: string, field?: string | null }
    | { noted: number }
   | null };

export type JobProgressSubscriptionVariables = Exact<{
  jobId: Scalars['ID']['input'];
  sinceRevision?: InputMaybe<Scalars['String']['input']>;
}>;


export type JobProgressSubscription = { jobProgress: { jobId: string, status: JobStatus, message: string, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number, percent?: number | null, sealed: boolean, revision: string, startedAt?: string | null, completedAt?: string | null, outcome?: JobOutcome | null, cancelReason?: CancelReason | null, completions: number } };

export type JobTreeProgressSubscriptionVariables = Exact<{
  rootId: Scalars['ID']['input'];
  sinceRevision?: InputMaybe<Scalars['String']['input']>;
}>;


export type JobTreeProgressSubscription = { jobTreeProgress: { rootId: string, revision: string, openJobs: number, complete: boolean, stage: number, stageCount: number, message: string, outcome?: JobOutcome | null, percent?: number | null, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number, jobs: Array<{ jobId: string, status: JobStatus, message: string, itemCount: number, itemProgress: number, succeeded: number, failed: number, cancelled: number, percent?: number | null, sealed: boolean, revision: string, startedAt?: string | null, completedAt?: string | null, outcome?: JobOutcome | null, cancelReason?: CancelReason | null, completions: number }> } };

export type OperationProgressSubscriptionVariables = Exact<{
  operationId: Scalars['ID']['input'];
}>;


export type OperationProgressSubscription = { operationProgress: { id: string, kind: OperationKind, status: OperationStatus, total: number, done: number, skipped: number, skippedReason?: string | null, requestedAt: string, requestedBy?: string | null, finishedAt?: string | null } };

export type WorkAvailableSubscriptionVariables = Exact<{
  types: Array<Scalars['String']['input']> | Scalars['String']['input'];
  worker?: InputMaybe<WorkerInput>;
}>;


export type WorkAvailableSubscription = { workAvailable: { types: Array<string> } };

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
export const OperationFields = /*#__PURE__*/ new TypedDocumentString(`
    fragment OperationFields on Operation {
  id
  kind
  status
  total
  done
  skipped
  skippedReason
  requestedAt
  requestedBy
  finishedAt
}
    `, {"fragmentName":"OperationFields"}) as unknown as TypedDocumentString<OperationFieldsFragment, unknown>;
export const ProgressFields = /*#__PURE__*/ new TypedDocumentString(`
    fragment ProgressFields on JobProgress {
  jobId
  status
  message
  itemCount
  itemProgress
  succeeded
  failed
  cancelled
  percent
  sealed
  revision
  startedAt
  completedAt
  outcome
  cancelReason
  completions
}
    `, {"fragmentName":"ProgressFields"}) as unknown as TypedDocumentString<ProgressFieldsFragment, unknown>;
export const JobFields = /*#__PURE__*/ new TypedDocumentString(`
    fragment JobFields on Job {
  id
  type
  root {
    id
  }
  parent {
    id
  }
  depth
  dedupeKey
  priority
  runAt
  maxFailuresPerItem
  backoffMs
  backoffJitter
  heartbeatIntervalMs
  toleratedFailureCount
  toleratedFailurePercentage
  serializeOnFailure
  finalStage
  feed {
    source
    forEach
    payload
    serializeKey
  }
  waitsForJobs
  createdAt
  sealedAt
  failedAt
  import {
    error {
      code
      message
    }
  }
  cancelledAt
  cancelReason
  retentionSeconds
  reapAt
  idleExpirySeconds
  idleSince
  occurrence {
    schedule
    at
  }
  treeOutcome
  progress {
    ...ProgressFields
  }
}
    fragment ProgressFields on JobProgress {
  jobId
  status
  message
  itemCount
  itemProgress
  succeeded
  failed
  cancelled
  percent
  sealed
  revision
  startedAt
  completedAt
  outcome
  cancelReason
  completions
}`, {"fragmentName":"JobFields"}) as unknown as TypedDocumentString<JobFieldsFragment, unknown>;
export const ItemFields = /*#__PURE__*/ new TypedDocumentString(`
    fragment ItemFields on JobItem {
  id
  status
  payload
  result
  failureCount
  failures {
    attempt
    code
    message
    worker
    at
    stack
  }
  note
  log {
    attempt
    at
    text
  }
  priority
  runAt
  retryAt
  dedupeKey
  serializeKey
  parentItem {
    id
  }
  blockedBy {
    id
  }
  createdAt
  finishedAt
  assignment {
    id
    worker
    attempt
    claimedAt
    heartbeatAt
    deadlineAt
  }
}
    `, {"fragmentName":"ItemFields"}) as unknown as TypedDocumentString<ItemFieldsFragment, unknown>;
export const TreeFields = /*#__PURE__*/ new TypedDocumentString(`
    fragment TreeFields on TreeProgress {
  revision
  openJobs
  complete
  stage
  stageCount
  message
  outcome
  percent
  itemCount
  itemProgress
  succeeded
  failed
  cancelled
}
    `, {"fragmentName":"TreeFields"}) as unknown as TypedDocumentString<TreeFieldsFragment, unknown>;
export const StandstillFields = /*#__PURE__*/ new TypedDocumentString(`
    fragment StandstillFields on Standstill {
  reason
  message
  type
  itemCount
  hasMore
  job {
    id
  }
  item {
    id
  }
  serializeKey
  head {
    id
    status
  }
  waitsFor {
    id
    type
  }
  until
  since
  limit
  code
  cancelReason
}
    `, {"fragmentName":"StandstillFields"}) as unknown as TypedDocumentString<StandstillFieldsFragment, unknown>;
export const ScheduleFields = /*#__PURE__*/ new TypedDocumentString(`
    fragment ScheduleFields on Schedule {
  name
  cron
  timeZone
  everyMs
  startAt
  missed
  overlap
  template
  createdAt
  changedAt
  pausedAt
  nextAt
  nextOccurrences
  queued
  lastOccurrenceAt
  lastJob {
    id
    progress {
      status
    }
  }
  lastSkip {
    at
    reason
  }
  lastFailure {
    at
    message
  }
  behindMs
}
    `, {"fragmentName":"ScheduleFields"}) as unknown as TypedDocumentString<ScheduleFieldsFragment, unknown>;
export const QueueFields = /*#__PURE__*/ new TypedDocumentString(`
    fragment QueueFields on Queue {
  type
  ready
  scheduled
  retrying
  waiting
  blocked
  running
  oldestReadyMs
  paused
  concurrency
  rate {
    limit
    intervalMs
  }
  lifetimeMs
  deadLetterAlert {
    endpoint
    count
    intervalMs
  }
  alertedAt
  priority
  maxFailuresPerItem
  backoffMs
  backoffJitter
  heartbeatIntervalMs
}
    `, {"fragmentName":"QueueFields"}) as unknown as TypedDocumentString<QueueFieldsFragment, unknown>;
export const EndpointFields = /*#__PURE__*/ new TypedDocumentString(`
    fragment EndpointFields on CallbackEndpoint {
  name
  url
  createdAt
  previousSecretUntil
  goneAt
}
    `, {"fragmentName":"EndpointFields"}) as unknown as TypedDocumentString<EndpointFieldsFragment, unknown>;
export const DeliveryFields = /*#__PURE__*/ new TypedDocumentString(`
    fragment DeliveryFields on CallbackDelivery {
  id
  messageId
  endpoint
  event
  status
  rootId
  body
  createdAt
  dueAt
  deliveredAt
  failedAt
  attemptCount
  attempts {
    at
    tookMs
    statusCode
    error
  }
}
    `, {"fragmentName":"DeliveryFields"}) as unknown as TypedDocumentString<DeliveryFieldsFragment, unknown>;
export const CreateJob = /*#__PURE__*/ new TypedDocumentString(`
    mutation CreateJob($input: JobInput!) {
  createJob(input: $input) {
    ... on CreateJobPayload {
      created
      job {
        id
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<CreateJobMutation, CreateJobMutationVariables>;
export const CreateJobs = /*#__PURE__*/ new TypedDocumentString(`
    mutation CreateJobs($inputs: [JobInput!]!) {
  createJobs(inputs: $inputs) {
    ... on CreateJobsPayload {
      entries {
        jobId
        created
        error {
          code
          message
          field
        }
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<CreateJobsMutation, CreateJobsMutationVariables>;
export const AddItems = /*#__PURE__*/ new TypedDocumentString(`
    mutation AddItems($input: AddItemsInput!, $all: Boolean!) {
  addItems(input: $input) {
    ... on AddItemsPayload {
      added
      duplicates
      invalid
      entries(all: $all) {
        index @skip(if: $all)
        status
        itemId
        error {
          message
        }
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<AddItemsMutation, AddItemsMutationVariables>;
export const SealJob = /*#__PURE__*/ new TypedDocumentString(`
    mutation SealJob($input: SealJobInput!) {
  sealJob(input: $input) {
    ... on SealJobPayload {
      job {
        progress {
          ...ProgressFields
        }
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    fragment ProgressFields on JobProgress {
  jobId
  status
  message
  itemCount
  itemProgress
  succeeded
  failed
  cancelled
  percent
  sealed
  revision
  startedAt
  completedAt
  outcome
  cancelReason
  completions
}`) as unknown as TypedDocumentString<SealJobMutation, SealJobMutationVariables>;
export const CancelJob = /*#__PURE__*/ new TypedDocumentString(`
    mutation CancelJob($input: CancelJobInput!) {
  cancelJob(input: $input) {
    ... on CancelJobPayload {
      job {
        id
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<CancelJobMutation, CancelJobMutationVariables>;
export const CancelItems = /*#__PURE__*/ new TypedDocumentString(`
    mutation CancelItems($input: CancelItemsInput!) {
  cancelItems(input: $input) {
    ... on CancelItemsPayload {
      operation {
        ...OperationFields
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    fragment OperationFields on Operation {
  id
  kind
  status
  total
  done
  skipped
  skippedReason
  requestedAt
  requestedBy
  finishedAt
}`) as unknown as TypedDocumentString<CancelItemsMutation, CancelItemsMutationVariables>;
export const PromoteItems = /*#__PURE__*/ new TypedDocumentString(`
    mutation PromoteItems($input: PromoteItemsInput!) {
  promoteItems(input: $input) {
    ... on PromoteItemsPayload {
      operation {
        ...OperationFields
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    fragment OperationFields on Operation {
  id
  kind
  status
  total
  done
  skipped
  skippedReason
  requestedAt
  requestedBy
  finishedAt
}`) as unknown as TypedDocumentString<PromoteItemsMutation, PromoteItemsMutationVariables>;
export const UpdateItem = /*#__PURE__*/ new TypedDocumentString(`
    mutation UpdateItem($input: UpdateItemInput!) {
  updateItem(input: $input) {
    ... on UpdateItemPayload {
      item {
        ...ItemFields
      }
    }
    ... on UserError {
      code
      message
      field
    }
    ... on ItemNotUpdatableError {
      reason
    }
  }
}
    fragment ItemFields on JobItem {
  id
  status
  payload
  result
  failureCount
  failures {
    attempt
    code
    message
    worker
    at
    stack
  }
  note
  log {
    attempt
    at
    text
  }
  priority
  runAt
  retryAt
  dedupeKey
  serializeKey
  parentItem {
    id
  }
  blockedBy {
    id
  }
  createdAt
  finishedAt
  assignment {
    id
    worker
    attempt
    claimedAt
    heartbeatAt
    deadlineAt
  }
}`) as unknown as TypedDocumentString<UpdateItemMutation, UpdateItemMutationVariables>;
export const SetRetention = /*#__PURE__*/ new TypedDocumentString(`
    mutation SetRetention($input: SetRetentionInput!) {
  setRetention(input: $input) {
    ... on SetRetentionPayload {
      job {
        ...JobFields
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    fragment ProgressFields on JobProgress {
  jobId
  status
  message
  itemCount
  itemProgress
  succeeded
  failed
  cancelled
  percent
  sealed
  revision
  startedAt
  completedAt
  outcome
  cancelReason
  completions
}
fragment JobFields on Job {
  id
  type
  root {
    id
  }
  parent {
    id
  }
  depth
  dedupeKey
  priority
  runAt
  maxFailuresPerItem
  backoffMs
  backoffJitter
  heartbeatIntervalMs
  toleratedFailureCount
  toleratedFailurePercentage
  serializeOnFailure
  finalStage
  feed {
    source
    forEach
    payload
    serializeKey
  }
  waitsForJobs
  createdAt
  sealedAt
  failedAt
  import {
    error {
      code
      message
    }
  }
  cancelledAt
  cancelReason
  retentionSeconds
  reapAt
  idleExpirySeconds
  idleSince
  occurrence {
    schedule
    at
  }
  treeOutcome
  progress {
    ...ProgressFields
  }
}`) as unknown as TypedDocumentString<SetRetentionMutation, SetRetentionMutationVariables>;
export const CreateWatchToken = /*#__PURE__*/ new TypedDocumentString(`
    mutation CreateWatchToken($input: CreateWatchTokenInput!) {
  createWatchToken(input: $input) {
    ... on CreateWatchTokenPayload {
      token
      expiresAt
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<CreateWatchTokenMutation, CreateWatchTokenMutationVariables>;
export const RevokeWatchTokens = /*#__PURE__*/ new TypedDocumentString(`
    mutation RevokeWatchTokens($input: RevokeWatchTokensInput!) {
  revokeWatchTokens(input: $input) {
    ... on RevokeWatchTokensPayload {
      revokedAt
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<RevokeWatchTokensMutation, RevokeWatchTokensMutationVariables>;
export const DeleteJob = /*#__PURE__*/ new TypedDocumentString(`
    mutation DeleteJob($input: DeleteJobInput!) {
  deleteJob(input: $input) {
    ... on DeleteJobPayload {
      deleted
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<DeleteJobMutation, DeleteJobMutationVariables>;
export const ReplayDeadLetters = /*#__PURE__*/ new TypedDocumentString(`
    mutation ReplayDeadLetters($input: ReplayDeadLettersInput!) {
  replayDeadLetters(input: $input) {
    ... on ReplayDeadLettersPayload {
      operation {
        ...OperationFields
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    fragment OperationFields on Operation {
  id
  kind
  status
  total
  done
  skipped
  skippedReason
  requestedAt
  requestedBy
  finishedAt
}`) as unknown as TypedDocumentString<ReplayDeadLettersMutation, ReplayDeadLettersMutationVariables>;
export const DiscardDeadLetters = /*#__PURE__*/ new TypedDocumentString(`
    mutation DiscardDeadLetters($input: DiscardDeadLettersInput!) {
  discardDeadLetters(input: $input) {
    ... on DiscardDeadLettersPayload {
      operation {
        ...OperationFields
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    fragment OperationFields on Operation {
  id
  kind
  status
  total
  done
  skipped
  skippedReason
  requestedAt
  requestedBy
  finishedAt
}`) as unknown as TypedDocumentString<DiscardDeadLettersMutation, DiscardDeadLettersMutationVariables>;
export const NoteDeadLetters = /*#__PURE__*/ new TypedDocumentString(`
    mutation NoteDeadLetters($input: NoteDeadLettersInput!) {
  noteDeadLetters(input: $input) {
    ... on NoteDeadLettersPayload {
      group {
        id
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<NoteDeadLettersMutation, NoteDeadLettersMutationVariables>;
export const CancelOperation = /*#__PURE__*/ new TypedDocumentString(`
    mutation CancelOperation($input: CancelOperationInput!) {
  cancelOperation(input: $input) {
    ... on CancelOperationPayload {
      operation {
        ...OperationFields
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    fragment OperationFields on Operation {
  id
  kind
  status
  total
  done
  skipped
  skippedReason
  requestedAt
  requestedBy
  finishedAt
}`) as unknown as TypedDocumentString<CancelOperationMutation, CancelOperationMutationVariables>;
export const Operation = /*#__PURE__*/ new TypedDocumentString(`
    query Operation($id: ID!) {
  node(id: $id) {
    ... on Operation {
      ...OperationFields
    }
  }
}
    fragment OperationFields on Operation {
  id
  kind
  status
  total
  done
  skipped
  skippedReason
  requestedAt
  requestedBy
  finishedAt
}`) as unknown as TypedDocumentString<OperationQuery, OperationQueryVariables>;
export const DeadLetterGroups = /*#__PURE__*/ new TypedDocumentString(`
    query DeadLetterGroups($types: [String!], $first: Int) {
  deadLetterGroups(types: $types, first: $first) {
    id
    type
    code
    pattern
    count
    firstAt
    lastAt
    note
    notedAt
    example {
      id
      job {
        id
      }
    }
  }
}
    `) as unknown as TypedDocumentString<DeadLetterGroupsQuery, DeadLetterGroupsQueryVariables>;
export const DeadLetterGroup = /*#__PURE__*/ new TypedDocumentString(`
    query DeadLetterGroup($id: ID!, $first: Int) {
  node(id: $id) {
    ... on DeadLetterGroup {
      id
      type
      code
      pattern
      count
      firstAt
      lastAt
      note
      notedAt
      items(first: $first) {
        ...ItemFields
        job {
          id
          type
        }
      }
    }
  }
}
    fragment ItemFields on JobItem {
  id
  status
  payload
  result
  failureCount
  failures {
    attempt
    code
    message
    worker
    at
    stack
  }
  note
  log {
    attempt
    at
    text
  }
  priority
  runAt
  retryAt
  dedupeKey
  serializeKey
  parentItem {
    id
  }
  blockedBy {
    id
  }
  createdAt
  finishedAt
  assignment {
    id
    worker
    attempt
    claimedAt
    heartbeatAt
    deadlineAt
  }
}`) as unknown as TypedDocumentString<DeadLetterGroupQuery, DeadLetterGroupQueryVariables>;
export const DeadLetterDigest = /*#__PURE__*/ new TypedDocumentString(`
    query DeadLetterDigest($since: DateTime!, $types: [String!], $first: Int) {
  deadLetterDigest(since: $since, types: $types, first: $first) {
    count
    group {
      id
      type
      code
      pattern
      count
      firstAt
      lastAt
      note
      notedAt
    }
  }
}
    `) as unknown as TypedDocumentString<DeadLetterDigestQuery, DeadLetterDigestQueryVariables>;
export const DeadLetterCount = /*#__PURE__*/ new TypedDocumentString(`
    query DeadLetterCount($filter: DeadLetterFilter!, $replayable: Boolean!) {
  deadLetterCount(filter: $filter, replayable: $replayable)
}
    `) as unknown as TypedDocumentString<DeadLetterCountQuery, DeadLetterCountQueryVariables>;
export const CancelTrees = /*#__PURE__*/ new TypedDocumentString(`
    mutation CancelTrees($input: CancelTreesInput!) {
  cancelTrees(input: $input) {
    ... on CancelTreesPayload {
      operation {
        ...OperationFields
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    fragment OperationFields on Operation {
  id
  kind
  status
  total
  done
  skipped
  skippedReason
  requestedAt
  requestedBy
  finishedAt
}`) as unknown as TypedDocumentString<CancelTreesMutation, CancelTreesMutationVariables>;
export const DeleteTrees = /*#__PURE__*/ new TypedDocumentString(`
    mutation DeleteTrees($input: DeleteTreesInput!) {
  deleteTrees(input: $input) {
    ... on DeleteTreesPayload {
      operation {
        ...OperationFields
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    fragment OperationFields on Operation {
  id
  kind
  status
  total
  done
  skipped
  skippedReason
  requestedAt
  requestedBy
  finishedAt
}`) as unknown as TypedDocumentString<DeleteTreesMutation, DeleteTreesMutationVariables>;
export const JobCount = /*#__PURE__*/ new TypedDocumentString(`
    query JobCount($filter: JobFilter) {
  jobCount(filter: $filter) {
    count
    since
  }
}
    `) as unknown as TypedDocumentString<JobCountQuery, JobCountQueryVariables>;
export const PendingItemCount = /*#__PURE__*/ new TypedDocumentString(`
    query PendingItemCount($filter: PendingItemFilter!) {
  pendingItemCount(filter: $filter)
}
    `) as unknown as TypedDocumentString<PendingItemCountQuery, PendingItemCountQueryVariables>;
export const Job = /*#__PURE__*/ new TypedDocumentString(`
    query Job($id: ID!) {
  job(id: $id) {
    ...JobFields
    treeProgress {
      ...TreeFields
    }
    children {
      id
    }
    after {
      id
    }
    callbacks {
      endpoint
      on
    }
    deletion {
      requestedAt
      reaped
      itemCount
      deletedItems
    }
    import {
      status
      uploadId
      format
      size
      bytesRead
      items
      badLines
      startedAt
      finishedAt
      error {
        code
        message
      }
    }
  }
}
    fragment ProgressFields on JobProgress {
  jobId
  status
  message
  itemCount
  itemProgress
  succeeded
  failed
  cancelled
  percent
  sealed
  revision
  startedAt
  completedAt
  outcome
  cancelReason
  completions
}
fragment JobFields on Job {
  id
  type
  root {
    id
  }
  parent {
    id
  }
  depth
  dedupeKey
  priority
  runAt
  maxFailuresPerItem
  backoffMs
  backoffJitter
  heartbeatIntervalMs
  toleratedFailureCount
  toleratedFailurePercentage
  serializeOnFailure
  finalStage
  feed {
    source
    forEach
    payload
    serializeKey
  }
  waitsForJobs
  createdAt
  sealedAt
  failedAt
  import {
    error {
      code
      message
    }
  }
  cancelledAt
  cancelReason
  retentionSeconds
  reapAt
  idleExpirySeconds
  idleSince
  occurrence {
    schedule
    at
  }
  treeOutcome
  progress {
    ...ProgressFields
  }
}
fragment TreeFields on TreeProgress {
  revision
  openJobs
  complete
  stage
  stageCount
  message
  outcome
  percent
  itemCount
  itemProgress
  succeeded
  failed
  cancelled
}`) as unknown as TypedDocumentString<JobQuery, JobQueryVariables>;
export const JobByDedupeKey = /*#__PURE__*/ new TypedDocumentString(`
    query JobByDedupeKey($type: String!, $dedupeKey: String!) {
  jobByDedupeKey(type: $type, dedupeKey: $dedupeKey) {
    ...JobFields
  }
}
    fragment ProgressFields on JobProgress {
  jobId
  status
  message
  itemCount
  itemProgress
  succeeded
  failed
  cancelled
  percent
  sealed
  revision
  startedAt
  completedAt
  outcome
  cancelReason
  completions
}
fragment JobFields on Job {
  id
  type
  root {
    id
  }
  parent {
    id
  }
  depth
  dedupeKey
  priority
  runAt
  maxFailuresPerItem
  backoffMs
  backoffJitter
  heartbeatIntervalMs
  toleratedFailureCount
  toleratedFailurePercentage
  serializeOnFailure
  finalStage
  feed {
    source
    forEach
    payload
    serializeKey
  }
  waitsForJobs
  createdAt
  sealedAt
  failedAt
  import {
    error {
      code
      message
    }
  }
  cancelledAt
  cancelReason
  retentionSeconds
  reapAt
  idleExpirySeconds
  idleSince
  occurrence {
    schedule
    at
  }
  treeOutcome
  progress {
    ...ProgressFields
  }
}`) as unknown as TypedDocumentString<JobByDedupeKeyQuery, JobByDedupeKeyQueryVariables>;
export const JobsWithTrees = /*#__PURE__*/ new TypedDocumentString(`
    query JobsWithTrees($filter: JobFilter, $order: JobOrder, $first: Int, $after: String) {
  jobs(filter: $filter, order: $order, first: $first, after: $after) {
    edges {
      node {
        ...JobFields
        treeProgress {
          ...TreeFields
        }
      }
    }
    pageInfo {
      endCursor
      hasNextPage
    }
  }
}
    fragment ProgressFields on JobProgress {
  jobId
  status
  message
  itemCount
  itemProgress
  succeeded
  failed
  cancelled
  percent
  sealed
  revision
  startedAt
  completedAt
  outcome
  cancelReason
  completions
}
fragment JobFields on Job {
  id
  type
  root {
    id
  }
  parent {
    id
  }
  depth
  dedupeKey
  priority
  runAt
  maxFailuresPerItem
  backoffMs
  backoffJitter
  heartbeatIntervalMs
  toleratedFailureCount
  toleratedFailurePercentage
  serializeOnFailure
  finalStage
  feed {
    source
    forEach
    payload
    serializeKey
  }
  waitsForJobs
  createdAt
  sealedAt
  failedAt
  import {
    error {
      code
      message
    }
  }
  cancelledAt
  cancelReason
  retentionSeconds
  reapAt
  idleExpirySeconds
  idleSince
  occurrence {
    schedule
    at
  }
  treeOutcome
  progress {
    ...ProgressFields
  }
}
fragment TreeFields on TreeProgress {
  revision
  openJobs
  complete
  stage
  stageCount
  message
  outcome
  percent
  itemCount
  itemProgress
  succeeded
  failed
  cancelled
}`) as unknown as TypedDocumentString<JobsWithTreesQuery, JobsWithTreesQueryVariables>;
export const Jobs = /*#__PURE__*/ new TypedDocumentString(`
    query Jobs($filter: JobFilter, $order: JobOrder, $first: Int, $after: String) {
  jobs(filter: $filter, order: $order, first: $first, after: $after) {
    edges {
      node {
        ...JobFields
      }
    }
    pageInfo {
      endCursor
      hasNextPage
    }
  }
}
    fragment ProgressFields on JobProgress {
  jobId
  status
  message
  itemCount
  itemProgress
  succeeded
  failed
  cancelled
  percent
  sealed
  revision
  startedAt
  completedAt
  outcome
  cancelReason
  completions
}
fragment JobFields on Job {
  id
  type
  root {
    id
  }
  parent {
    id
  }
  depth
  dedupeKey
  priority
  runAt
  maxFailuresPerItem
  backoffMs
  backoffJitter
  heartbeatIntervalMs
  toleratedFailureCount
  toleratedFailurePercentage
  serializeOnFailure
  finalStage
  feed {
    source
    forEach
    payload
    serializeKey
  }
  waitsForJobs
  createdAt
  sealedAt
  failedAt
  import {
    error {
      code
      message
    }
  }
  cancelledAt
  cancelReason
  retentionSeconds
  reapAt
  idleExpirySeconds
  idleSince
  occurrence {
    schedule
    at
  }
  treeOutcome
  progress {
    ...ProgressFields
  }
}`) as unknown as TypedDocumentString<JobsQuery, JobsQueryVariables>;
export const Item = /*#__PURE__*/ new TypedDocumentString(`
    query Item($id: ID!) {
  item(id: $id) {
    ...ItemFields
  }
}
    fragment ItemFields on JobItem {
  id
  status
  payload
  result
  failureCount
  failures {
    attempt
    code
    message
    worker
    at
    stack
  }
  note
  log {
    attempt
    at
    text
  }
  priority
  runAt
  retryAt
  dedupeKey
  serializeKey
  parentItem {
    id
  }
  blockedBy {
    id
  }
  createdAt
  finishedAt
  assignment {
    id
    worker
    attempt
    claimedAt
    heartbeatAt
    deadlineAt
  }
}`) as unknown as TypedDocumentString<ItemQuery, ItemQueryVariables>;
export const Standstills = /*#__PURE__*/ new TypedDocumentString(`
    query Standstills($id: ID!) {
  node(id: $id) {
    ... on JobItem {
      standstills {
        ...StandstillFields
      }
    }
    ... on Job {
      parent {
        id
      }
      ofJob: standstills {
        ...StandstillFields
      }
      ofTree: treeStandstills {
        ...StandstillFields
      }
    }
  }
}
    fragment StandstillFields on Standstill {
  reason
  message
  type
  itemCount
  hasMore
  job {
    id
  }
  item {
    id
  }
  serializeKey
  head {
    id
    status
  }
  waitsFor {
    id
    type
  }
  until
  since
  limit
  code
  cancelReason
}`) as unknown as TypedDocumentString<StandstillsQuery, StandstillsQueryVariables>;
export const QueueStandstills = /*#__PURE__*/ new TypedDocumentString(`
    query QueueStandstills($type: String!) {
  queue(type: $type) {
    standstills {
      ...StandstillFields
    }
  }
}
    fragment StandstillFields on Standstill {
  reason
  message
  type
  itemCount
  hasMore
  job {
    id
  }
  item {
    id
  }
  serializeKey
  head {
    id
    status
  }
  waitsFor {
    id
    type
  }
  until
  since
  limit
  code
  cancelReason
}`) as unknown as TypedDocumentString<QueueStandstillsQuery, QueueStandstillsQueryVariables>;
export const Items = /*#__PURE__*/ new TypedDocumentString(`
    query Items($jobId: ID!, $statuses: [ItemStatus!], $first: Int, $after: String) {
  job(id: $jobId) {
    items(statuses: $statuses, first: $first, after: $after) {
      edges {
        node {
          ...ItemFields
        }
      }
      pageInfo {
        endCursor
        hasNextPage
      }
    }
  }
}
    fragment ItemFields on JobItem {
  id
  status
  payload
  result
  failureCount
  failures {
    attempt
    code
    message
    worker
    at
    stack
  }
  note
  log {
    attempt
    at
    text
  }
  priority
  runAt
  retryAt
  dedupeKey
  serializeKey
  parentItem {
    id
  }
  blockedBy {
    id
  }
  createdAt
  finishedAt
  assignment {
    id
    worker
    attempt
    claimedAt
    heartbeatAt
    deadlineAt
  }
}`) as unknown as TypedDocumentString<ItemsQuery, ItemsQueryVariables>;
export const SearchItems = /*#__PURE__*/ new TypedDocumentString(`
    query SearchItems($jobId: ID!, $path: String, $equals: String, $text: String, $codes: [String!], $dedupeKeys: [String!], $from: ID, $first: Int!) {
  job(id: $jobId) {
    searchItems(
      path: $path
      equals: $equals
      text: $text
      codes: $codes
      dedupeKeys: $dedupeKeys
      from: $from
      first: $first
    ) {
      nodes {
        ...ItemFields
      }
      searched
      nextFrom
    }
  }
}
    fragment ItemFields on JobItem {
  id
  status
  payload
  result
  failureCount
  failures {
    attempt
    code
    message
    worker
    at
    stack
  }
  note
  log {
    attempt
    at
    text
  }
  priority
  runAt
  retryAt
  dedupeKey
  serializeKey
  parentItem {
    id
  }
  blockedBy {
    id
  }
  createdAt
  finishedAt
  assignment {
    id
    worker
    attempt
    claimedAt
    heartbeatAt
    deadlineAt
  }
}`) as unknown as TypedDocumentString<SearchItemsQuery, SearchItemsQueryVariables>;
export const JobResults = /*#__PURE__*/ new TypedDocumentString(`
    query JobResults($jobId: ID!, $first: Int, $after: String) {
  job(id: $jobId) {
    items(statuses: [SUCCEEDED], first: $first, after: $after) {
      edges {
        node {
          id
          payload
          result
        }
      }
      pageInfo {
        endCursor
        hasNextPage
      }
    }
  }
}
    `) as unknown as TypedDocumentString<JobResultsQuery, JobResultsQueryVariables>;
export const Results = /*#__PURE__*/ new TypedDocumentString(`
    query Results($jobId: ID!, $first: Int, $after: String) {
  job(id: $jobId) {
    results(first: $first, after: $after) {
      edges {
        node {
          id
          payload
          result
        }
      }
      pageInfo {
        endCursor
        hasNextPage
      }
    }
  }
}
    `) as unknown as TypedDocumentString<ResultsQuery, ResultsQueryVariables>;
export const Schedule = /*#__PURE__*/ new TypedDocumentString(`
    query Schedule($name: String!) {
  schedule(name: $name) {
    ...ScheduleFields
  }
}
    fragment ScheduleFields on Schedule {
  name
  cron
  timeZone
  everyMs
  startAt
  missed
  overlap
  template
  createdAt
  changedAt
  pausedAt
  nextAt
  nextOccurrences
  queued
  lastOccurrenceAt
  lastJob {
    id
    progress {
      status
    }
  }
  lastSkip {
    at
    reason
  }
  lastFailure {
    at
    message
  }
  behindMs
}`) as unknown as TypedDocumentString<ScheduleQuery, ScheduleQueryVariables>;
export const Schedules = /*#__PURE__*/ new TypedDocumentString(`
    query Schedules($first: Int, $after: String) {
  schedules(first: $first, after: $after) {
    edges {
      node {
        ...ScheduleFields
      }
    }
    pageInfo {
      endCursor
      hasNextPage
    }
  }
}
    fragment ScheduleFields on Schedule {
  name
  cron
  timeZone
  everyMs
  startAt
  missed
  overlap
  template
  createdAt
  changedAt
  pausedAt
  nextAt
  nextOccurrences
  queued
  lastOccurrenceAt
  lastJob {
    id
    progress {
      status
    }
  }
  lastSkip {
    at
    reason
  }
  lastFailure {
    at
    message
  }
  behindMs
}`) as unknown as TypedDocumentString<SchedulesQuery, SchedulesQueryVariables>;
export const PutSchedule = /*#__PURE__*/ new TypedDocumentString(`
    mutation PutSchedule($input: ScheduleInput!) {
  putSchedule(input: $input) {
    ... on PutSchedulePayload {
      created
      changed
      schedule {
        ...ScheduleFields
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    fragment ScheduleFields on Schedule {
  name
  cron
  timeZone
  everyMs
  startAt
  missed
  overlap
  template
  createdAt
  changedAt
  pausedAt
  nextAt
  nextOccurrences
  queued
  lastOccurrenceAt
  lastJob {
    id
    progress {
      status
    }
  }
  lastSkip {
    at
    reason
  }
  lastFailure {
    at
    message
  }
  behindMs
}`) as unknown as TypedDocumentString<PutScheduleMutation, PutScheduleMutationVariables>;
export const SyncSchedules = /*#__PURE__*/ new TypedDocumentString(`
    mutation SyncSchedules($input: SyncSchedulesInput!) {
  syncSchedules(input: $input) {
    ... on SyncSchedulesPayload {
      created
      changed
      deleted
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<SyncSchedulesMutation, SyncSchedulesMutationVariables>;
export const PauseSchedule = /*#__PURE__*/ new TypedDocumentString(`
    mutation PauseSchedule($input: PauseScheduleInput!) {
  pauseSchedule(input: $input) {
    ... on PauseSchedulePayload {
      schedule {
        ...ScheduleFields
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    fragment ScheduleFields on Schedule {
  name
  cron
  timeZone
  everyMs
  startAt
  missed
  overlap
  template
  createdAt
  changedAt
  pausedAt
  nextAt
  nextOccurrences
  queued
  lastOccurrenceAt
  lastJob {
    id
    progress {
      status
    }
  }
  lastSkip {
    at
    reason
  }
  lastFailure {
    at
    message
  }
  behindMs
}`) as unknown as TypedDocumentString<PauseScheduleMutation, PauseScheduleMutationVariables>;
export const ResumeSchedule = /*#__PURE__*/ new TypedDocumentString(`
    mutation ResumeSchedule($input: ResumeScheduleInput!) {
  resumeSchedule(input: $input) {
    ... on ResumeSchedulePayload {
      schedule {
        ...ScheduleFields
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    fragment ScheduleFields on Schedule {
  name
  cron
  timeZone
  everyMs
  startAt
  missed
  overlap
  template
  createdAt
  changedAt
  pausedAt
  nextAt
  nextOccurrences
  queued
  lastOccurrenceAt
  lastJob {
    id
    progress {
      status
    }
  }
  lastSkip {
    at
    reason
  }
  lastFailure {
    at
    message
  }
  behindMs
}`) as unknown as TypedDocumentString<ResumeScheduleMutation, ResumeScheduleMutationVariables>;
export const RunSchedule = /*#__PURE__*/ new TypedDocumentString(`
    mutation RunSchedule($input: RunScheduleInput!) {
  runSchedule(input: $input) {
    ... on RunSchedulePayload {
      job {
        id
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<RunScheduleMutation, RunScheduleMutationVariables>;
export const SkipOccurrence = /*#__PURE__*/ new TypedDocumentString(`
    mutation SkipOccurrence($input: SkipOccurrenceInput!) {
  skipOccurrence(input: $input) {
    ... on SkipOccurrencePayload {
      skipped
      schedule {
        ...ScheduleFields
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    fragment ScheduleFields on Schedule {
  name
  cron
  timeZone
  everyMs
  startAt
  missed
  overlap
  template
  createdAt
  changedAt
  pausedAt
  nextAt
  nextOccurrences
  queued
  lastOccurrenceAt
  lastJob {
    id
    progress {
      status
    }
  }
  lastSkip {
    at
    reason
  }
  lastFailure {
    at
    message
  }
  behindMs
}`) as unknown as TypedDocumentString<SkipOccurrenceMutation, SkipOccurrenceMutationVariables>;
export const DeleteSchedule = /*#__PURE__*/ new TypedDocumentString(`
    mutation DeleteSchedule($input: DeleteScheduleInput!) {
  deleteSchedule(input: $input) {
    ... on DeleteSchedulePayload {
      name
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<DeleteScheduleMutation, DeleteScheduleMutationVariables>;
export const ClaimItem = /*#__PURE__*/ new TypedDocumentString(`
    mutation ClaimItem($input: ClaimItemInput!) {
  claimItem(input: $input) {
    ... on ClaimItemPayload {
      assignment {
        id
        itemId
        jobId
        type
        attempt
        lastAttempt
        suspect
        lostBefore
        hasSerializeKey
        payload
        heartbeatIntervalMs
      }
    }
    ... on UserError {
      code
      message
      field
    }
    ... on ItemNotClaimableError {
      reason
    }
  }
}
    `) as unknown as TypedDocumentString<ClaimItemMutation, ClaimItemMutationVariables>;
export const Exchange = /*#__PURE__*/ new TypedDocumentString(`
    mutation Exchange($input: ExchangeInput!) {
  exchange(input: $input) {
    ... on ExchangePayload {
      reported {
        entries(all: false) {
          index
          status
          retryAt
          error {
            message
            field
          }
        }
      }
      assignments {
        id
        itemId
        jobId
        type
        attempt
        lastAttempt
        suspect
        lostBefore
        hasSerializeKey
        payload
        heartbeatIntervalMs
      }
      limitedTypes
      claimError {
        code
        message
        field
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<ExchangeMutation, ExchangeMutationVariables>;
export const ExchangeParts = /*#__PURE__*/ new TypedDocumentString(`
    mutation ExchangeParts($reports: ReportOutcomesInput = {reports: []}, $withReports: Boolean!, $releases: ReleaseAssignmentsInput = {assignmentIds: []}, $withReleases: Boolean!, $claims: ClaimItemsInput = {worker: "", requests: []}, $withClaims: Boolean!, $notes: NoteItemsInput = {notes: []}, $withNotes: Boolean = false) {
  noteItems(input: $notes) @include(if: $withNotes) {
    ... on NoteItemsPayload {
      noted
    }
    ... on UserError {
      code
      message
      field
    }
  }
  reportOutcomes(input: $reports) @include(if: $withReports) {
    ... on ReportOutcomesPayload {
      entries(all: false) {
        index
        status
        retryAt
        error {
          message
          field
        }
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
  releaseAssignments(input: $releases) @include(if: $withReleases) {
    ... on ReleaseAssignmentsPayload {
      entries {
        status
        error {
          message
        }
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
  claimItems(input: $claims) @include(if: $withClaims) {
    ... on ClaimItemsPayload {
      assignments {
        id
        itemId
        jobId
        type
        attempt
        lastAttempt
        suspect
        lostBefore
        hasSerializeKey
        payload
        heartbeatIntervalMs
      }
      limitedTypes
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<ExchangePartsMutation, ExchangePartsMutationVariables>;
export const SetQueue = /*#__PURE__*/ new TypedDocumentString(`
    mutation SetQueue($input: SetQueueInput!) {
  setQueue(input: $input) {
    ... on SetQueuePayload {
      queue {
        ...QueueFields
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    fragment QueueFields on Queue {
  type
  ready
  scheduled
  retrying
  waiting
  blocked
  running
  oldestReadyMs
  paused
  concurrency
  rate {
    limit
    intervalMs
  }
  lifetimeMs
  deadLetterAlert {
    endpoint
    count
    intervalMs
  }
  alertedAt
  priority
  maxFailuresPerItem
  backoffMs
  backoffJitter
  heartbeatIntervalMs
}`) as unknown as TypedDocumentString<SetQueueMutation, SetQueueMutationVariables>;
export const Queue = /*#__PURE__*/ new TypedDocumentString(`
    query Queue($type: String!) {
  queue(type: $type) {
    ...QueueFields
  }
}
    fragment QueueFields on Queue {
  type
  ready
  scheduled
  retrying
  waiting
  blocked
  running
  oldestReadyMs
  paused
  concurrency
  rate {
    limit
    intervalMs
  }
  lifetimeMs
  deadLetterAlert {
    endpoint
    count
    intervalMs
  }
  alertedAt
  priority
  maxFailuresPerItem
  backoffMs
  backoffJitter
  heartbeatIntervalMs
}`) as unknown as TypedDocumentString<QueueQuery, QueueQueryVariables>;
export const Queues = /*#__PURE__*/ new TypedDocumentString(`
    query Queues($types: [String!], $first: Int, $after: String) {
  queues(types: $types, first: $first, after: $after) {
    ...QueueFields
  }
}
    fragment QueueFields on Queue {
  type
  ready
  scheduled
  retrying
  waiting
  blocked
  running
  oldestReadyMs
  paused
  concurrency
  rate {
    limit
    intervalMs
  }
  lifetimeMs
  deadLetterAlert {
    endpoint
    count
    intervalMs
  }
  alertedAt
  priority
  maxFailuresPerItem
  backoffMs
  backoffJitter
  heartbeatIntervalMs
}`) as unknown as TypedDocumentString<QueuesQuery, QueuesQueryVariables>;
export const TypesWithSchemas = /*#__PURE__*/ new TypedDocumentString(`
    query TypesWithSchemas($first: Int!, $after: String) {
  typesWithSchemas(first: $first, after: $after)
}
    `) as unknown as TypedDocumentString<TypesWithSchemasQuery, TypesWithSchemasQueryVariables>;
export const TypeSchemas = /*#__PURE__*/ new TypedDocumentString(`
    query TypeSchemas($type: String!) {
  typeSchemas(type: $type) {
    type
    version
    payload
    result
    createdAt
  }
}
    `) as unknown as TypedDocumentString<TypeSchemasQuery, TypeSchemasQueryVariables>;
export const PutTypeSchema = /*#__PURE__*/ new TypedDocumentString(`
    mutation PutTypeSchema($input: PutTypeSchemaInput!) {
  putTypeSchema(input: $input) {
    ... on PutTypeSchemaPayload {
      created
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<PutTypeSchemaMutation, PutTypeSchemaMutationVariables>;
export const DeleteTypeSchema = /*#__PURE__*/ new TypedDocumentString(`
    mutation DeleteTypeSchema($input: DeleteTypeSchemaInput!) {
  deleteTypeSchema(input: $input) {
    ... on DeleteTypeSchemaPayload {
      deleted
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<DeleteTypeSchemaMutation, DeleteTypeSchemaMutationVariables>;
export const QueueFigures = /*#__PURE__*/ new TypedDocumentString(`
    query QueueFigures($types: [String!], $first: Int, $after: String, $lastMinutes: Int) {
  queues(types: $types, first: $first, after: $after) {
    ...QueueFields
    slow
    slowAfterMs
    figures(lastMinutes: $lastMinutes) {
      from
      until
      claimed
      succeeded
      failed
      lost
      dead
      deadRate
      perSecond
      wait {
        count
        p50Ms
        p95Ms
        p99Ms
      }
      processing {
        count
        p50Ms
        p95Ms
        p99Ms
      }
    }
  }
}
    fragment QueueFields on Queue {
  type
  ready
  scheduled
  retrying
  waiting
  blocked
  running
  oldestReadyMs
  paused
  concurrency
  rate {
    limit
    intervalMs
  }
  lifetimeMs
  deadLetterAlert {
    endpoint
    count
    intervalMs
  }
  alertedAt
  priority
  maxFailuresPerItem
  backoffMs
  backoffJitter
  heartbeatIntervalMs
}`) as unknown as TypedDocumentString<QueueFiguresQuery, QueueFiguresQueryVariables>;
export const HeldItems = /*#__PURE__*/ new TypedDocumentString(`
    query HeldItems($types: [String!], $workers: [String!], $slowOnly: Boolean, $first: Int, $after: HeldItemPlaceInput) {
  heldItems(
    types: $types
    workers: $workers
    slowOnly: $slowOnly
    first: $first
    after: $after
  ) {
    assignmentId
    itemId
    type
    worker
    attempt
    claimedAt
    heartbeatAt
    heldMs
    slow
  }
}
    `) as unknown as TypedDocumentString<HeldItemsQuery, HeldItemsQueryVariables>;
export const Workers = /*#__PURE__*/ new TypedDocumentString(`
    query Workers($types: [String!], $first: Int, $after: String) {
  workers(types: $types, first: $first, after: $after) {
    name
    version
    types {
      type
      concurrency
      holds
    }
    connectedAt
    seenAt
  }
}
    `) as unknown as TypedDocumentString<WorkersQuery, WorkersQueryVariables>;
export const PutCallbackEndpoint = /*#__PURE__*/ new TypedDocumentString(`
    mutation PutCallbackEndpoint($input: PutCallbackEndpointInput!) {
  putCallbackEndpoint(input: $input) {
    ... on PutCallbackEndpointPayload {
      secret
      endpoint {
        ...EndpointFields
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    fragment EndpointFields on CallbackEndpoint {
  name
  url
  createdAt
  previousSecretUntil
  goneAt
}`) as unknown as TypedDocumentString<PutCallbackEndpointMutation, PutCallbackEndpointMutationVariables>;
export const RotateCallbackSecret = /*#__PURE__*/ new TypedDocumentString(`
    mutation RotateCallbackSecret($input: RotateCallbackSecretInput!) {
  rotateCallbackSecret(input: $input) {
    ... on RotateCallbackSecretPayload {
      secret
      endpoint {
        ...EndpointFields
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    fragment EndpointFields on CallbackEndpoint {
  name
  url
  createdAt
  previousSecretUntil
  goneAt
}`) as unknown as TypedDocumentString<RotateCallbackSecretMutation, RotateCallbackSecretMutationVariables>;
export const DeleteCallbackEndpoint = /*#__PURE__*/ new TypedDocumentString(`
    mutation DeleteCallbackEndpoint($input: DeleteCallbackEndpointInput!) {
  deleteCallbackEndpoint(input: $input) {
    ... on DeleteCallbackEndpointPayload {
      name
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<DeleteCallbackEndpointMutation, DeleteCallbackEndpointMutationVariables>;
export const RetryCallbackDelivery = /*#__PURE__*/ new TypedDocumentString(`
    mutation RetryCallbackDelivery($input: RetryCallbackDeliveryInput!) {
  retryCallbackDelivery(input: $input) {
    ... on RetryCallbackDeliveryPayload {
      delivery {
        ...DeliveryFields
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    fragment DeliveryFields on CallbackDelivery {
  id
  messageId
  endpoint
  event
  status
  rootId
  body
  createdAt
  dueAt
  deliveredAt
  failedAt
  attemptCount
  attempts {
    at
    tookMs
    statusCode
    error
  }
}`) as unknown as TypedDocumentString<RetryCallbackDeliveryMutation, RetryCallbackDeliveryMutationVariables>;
export const CallbackEndpoints = /*#__PURE__*/ new TypedDocumentString(`
    query CallbackEndpoints($first: Int, $after: String) {
  callbackEndpoints(first: $first, after: $after) {
    ...EndpointFields
  }
}
    fragment EndpointFields on CallbackEndpoint {
  name
  url
  createdAt
  previousSecretUntil
  goneAt
}`) as unknown as TypedDocumentString<CallbackEndpointsQuery, CallbackEndpointsQueryVariables>;
export const CallbackDelivery = /*#__PURE__*/ new TypedDocumentString(`
    query CallbackDelivery($id: ID!) {
  node(id: $id) {
    ... on CallbackDelivery {
      ...DeliveryFields
    }
  }
}
    fragment DeliveryFields on CallbackDelivery {
  id
  messageId
  endpoint
  event
  status
  rootId
  body
  createdAt
  dueAt
  deliveredAt
  failedAt
  attemptCount
  attempts {
    at
    tookMs
    statusCode
    error
  }
}`) as unknown as TypedDocumentString<CallbackDeliveryQuery, CallbackDeliveryQueryVariables>;
export const CallbackDeliveries = /*#__PURE__*/ new TypedDocumentString(`
    query CallbackDeliveries($filter: CallbackDeliveryFilter, $first: Int, $after: String) {
  callbackDeliveries(filter: $filter, first: $first, after: $after) {
    edges {
      node {
        ...DeliveryFields
      }
    }
    pageInfo {
      endCursor
      hasNextPage
    }
  }
}
    fragment DeliveryFields on CallbackDelivery {
  id
  messageId
  endpoint
  event
  status
  rootId
  body
  createdAt
  dueAt
  deliveredAt
  failedAt
  attemptCount
  attempts {
    at
    tookMs
    statusCode
    error
  }
}`) as unknown as TypedDocumentString<CallbackDeliveriesQuery, CallbackDeliveriesQueryVariables>;
export const AuditEntries = /*#__PURE__*/ new TypedDocumentString(`
    query AuditEntries($filter: AuditFilter, $first: Int, $after: String) {
  auditEntries(filter: $filter, first: $first, after: $after) {
    edges {
      node {
        id
        at
        actor
        action
        subjects
        address
        outcome
      }
    }
    pageInfo {
      endCursor
      hasNextPage
    }
  }
}
    `) as unknown as TypedDocumentString<AuditEntriesQuery, AuditEntriesQueryVariables>;
export const SerializeKeys = /*#__PURE__*/ new TypedDocumentString(`
    query SerializeKeys($first: Int, $keys: [String!], $after: SerializeKeyPlaceInput) {
  serializeKeys(first: $first, keys: $keys, after: $after) {
    key
    held
    blocked
    head {
      id
      job {
        id
        type
      }
      failureCount
      assignment {
        worker
      }
    }
  }
}
    `) as unknown as TypedDocumentString<SerializeKeysQuery, SerializeKeysQueryVariables>;
export const Heartbeat = /*#__PURE__*/ new TypedDocumentString(`
    mutation Heartbeat($input: HeartbeatInput!) {
  heartbeat(input: $input) {
    ... on HeartbeatPayload {
      entries {
        status
        error {
          message
        }
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<HeartbeatMutation, HeartbeatMutationVariables>;
export const NoteItems = /*#__PURE__*/ new TypedDocumentString(`
    mutation NoteItems($input: NoteItemsInput!) {
  noteItems(input: $input) {
    ... on NoteItemsPayload {
      noted
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<NoteItemsMutation, NoteItemsMutationVariables>;
export const HeartbeatWithNotes = /*#__PURE__*/ new TypedDocumentString(`
    mutation HeartbeatWithNotes($input: HeartbeatInput!, $notes: NoteItemsInput!) {
  heartbeat(input: $input) {
    ... on HeartbeatPayload {
      entries {
        status
        error {
          message
        }
      }
    }
    ... on UserError {
      code
      message
      field
    }
  }
  noteItems(input: $notes) {
    ... on NoteItemsPayload {
      noted
    }
    ... on UserError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<HeartbeatWithNotesMutation, HeartbeatWithNotesMutationVariables>;
export const JobProgress = /*#__PURE__*/ new TypedDocumentString(`
    subscription JobProgress($jobId: ID!, $sinceRevision: String) {
  jobProgress(jobId: $jobId, sinceRevision: $sinceRevision) {
    ...ProgressFields
  }
}
    fragment ProgressFields on JobProgress {
  jobId
  status
  message
  itemCount
  itemProgress
  succeeded
  failed
  cancelled
  percent
  sealed
  revision
  startedAt
  completedAt
  outcome
  cancelReason
  completions
}`) as unknown as TypedDocumentString<JobProgressSubscription, JobProgressSubscriptionVariables>;
export const JobTreeProgress = /*#__PURE__*/ new TypedDocumentString(`
    subscription JobTreeProgress($rootId: ID!, $sinceRevision: String) {
  jobTreeProgress(rootId: $rootId, sinceRevision: $sinceRevision) {
    rootId
    revision
    openJobs
    complete
    stage
    stageCount
    message
    outcome
    percent
    itemCount
    itemProgress
    succeeded
    failed
    cancelled
    jobs {
      ...ProgressFields
    }
  }
}
    fragment ProgressFields on JobProgress {
  jobId
  status
  message
  itemCount
  itemProgress
  succeeded
  failed
  cancelled
  percent
  sealed
  revision
  startedAt
  completedAt
  outcome
  cancelReason
  completions
}`) as unknown as TypedDocumentString<JobTreeProgressSubscription, JobTreeProgressSubscriptionVariables>;
export const OperationProgress = /*#__PURE__*/ new TypedDocumentString(`
    subscription OperationProgress($operationId: ID!) {
  operationProgress(operationId: $operationId) {
    ...OperationFields
  }
}
    fragment OperationFields on Operation {
  id
  kind
  status
  total
  done
  skipped
  skippedReason
  requestedAt
  requestedBy
  finishedAt
}`) as unknown as TypedDocumentString<OperationProgressSubscription, OperationProgressSubscriptionVariables>;
export const WorkAvailable = /*#__PURE__*/ new TypedDocumentString(`
    subscription WorkAvailable($types: [String!]!, $worker: WorkerInput) {
  workAvailable(types: $types, worker: $worker) {
    types
  }
}
    `) as unknown as TypedDocumentString<WorkAvailableSubscription, WorkAvailableSubscriptionVariables>;