/** What a producer says about new jobs and items, and its way to the wire: everything is checked before anything is sent. */
import type {
  CallbackTrigger,
  FeedInput,
  FeedSource,
  FileFormat,
  FileInput,
  ItemInput,
  JobInput,
  SerializeOnFailure,
  UpdateItemInput,
} from '../generated/operations.ts';
import { JobtreeError } from './errors.ts';
import { checkJson, NotJsonError } from './json.ts';
import type { ItemChanges } from './types.ts';

/** A new item. */
export interface ItemSpec<Payload = unknown> {
  /** What is to be done: any JSON, up to 1 MB of text (a setting of the server). Default: null. */
  readonly payload?: Payload | undefined;
  /** Unique among the items of its job, 1 to 500 characters: with a key that is taken no item is added. */
  readonly dedupeKey?: string | undefined;
  /** Among items of a type, higher goes first: -32,768 to 32,767. Default: the priority of the job. */
  readonly priority?: number | undefined;
  /** Not to be claimed before this; as text in ISO 8601 with its offset. Default: the `runAt` of the job. */
  readonly runAt?: Date | string | undefined;
  /**
   * Items with one key run one at a time, in the order in which they were added, whatever their jobs, trees and types: 1 to 255
   * characters. Default: it waits for no other item.
   */
  readonly serializeKey?: string | undefined;
}

/** How a job treats its items; what is not given here is what the queue of its type says, or else the server's default. */
export interface JobPolicies {
  /** An item that fails more often than this has failed for good: 0 to 1,000. Default: 3. */
  readonly maxFailuresPerItem?: number | undefined;
  /**
   * How long an item waits after its first, second … failure, in milliseconds; the last one repeats, and an empty list
   * means not at all. Up to 100 steps. Default: 30 s, 5 min, 30 min.
   */
  readonly backoffMs?: readonly number[] | undefined;
  /** Up to this share is added to each backoff, at random: 0 to 1. Default: 0.1. */
  readonly backoffJitter?: number | undefined;
  /** How often workers heartbeat, in milliseconds: 1,000 to 86,400,000. Three without one are a failure. Default: 60,000. */
  readonly heartbeatIntervalMs?: number | undefined;
  /** The priority of items that name none: -32,768 to 32,767. Default: 0. */
  readonly priority?: number | undefined;
  /**
   * With more items failed for good than this the job fails: what is pending in it is cancelled, and its outcome is `FAILED`. 0 to
   * 2,147,483,647. With `toleratedFailurePercentage` it fails when either is passed. Default: any number is tolerated.
   */
  readonly toleratedFailureCount?: number | undefined;
  /** The same with a share of its items, of 100: 0 to 100. It counts once the job is sealed. Default: any share is tolerated. */
  readonly toleratedFailurePercentage?: number | undefined;
  /**
   * What becomes of the serialize key of an item that failed for good: the next one goes (`CONTINUE`), or the item keeps it until
   * somebody replays or discards it (`BLOCK`). Default: `CONTINUE`.
   */
  readonly serializeOnFailure?: SerializeOnFailure | undefined;
  /** Whether its results are among the results of the tree. Default: true for a job without children. */
  readonly finalStage?: boolean | undefined;
}

/** How successes of the parent become items. Paths start with `payload`, `result` or (with `forEach`) `element`. */
export interface FeedSpec {
  /** `SUCCESSES`: each makes items by the mapping. `REPORTS`: only what handlers `feed`. Default: `SUCCESSES`. */
  readonly source?: FeedSource | undefined;
  /** The path to a list; each element makes an item. Default: one item for each success. */
  readonly forEach?: string | undefined;
  /** A path, or an object whose values are paths. Default: the element with `forEach`, else the whole result. */
  readonly payload?: string | Readonly<Record<string, string>> | undefined;
  /** The path to the serialize key of the new item: a text or a number; null for none. Default: no key. */
  readonly serializeKey?: string | undefined;
}

/** What to call when a tree is complete. */
export interface CallbackSpec {
  /** The name of an endpoint: `client.callbacks.putEndpoint`. */
  readonly endpoint: string;
  /** `TREE`: when the tree is complete. `JOB`: when a job of it is, for each of them. Default: `TREE`. */
  readonly on?: CallbackTrigger | undefined;
}

/** A file that becomes the items of a job. It may be compressed by gzip, or by zstd where the server's Node.js knows that. */
export interface FileSpec {
  /** Of `client.upload`. */
  readonly uploadId: string;
  /** What it is made of: rows of CSV, lines of JSON, one JSON array, lines. */
  readonly format: FileFormat;
  /** A name of the Encoding Standard, such as `windows-1252`. Default: UTF-8, or UTF-16 if a byte order mark says so. */
  readonly encoding?: string | undefined;
  /** Of CSV, between cells. Default: a comma. */
  readonly delimiter?: string | undefined;
  /** Of CSV, around cells. Default: `"`. */
  readonly quote?: string | undefined;
  /** Of CSV: whether the first row names the columns; without, each row becomes a list of texts. Default: true. */
  readonly header?: boolean | undefined;
}

/** A new job with all jobs below it: up to 1,000 jobs, up to 32 levels below the root. */
export interface JobSpec extends JobPolicies {
  /** What kind of work its items are: the name that workers claim by. 1 to 200 characters. */
  readonly type: string;
  /** Unique among the jobs of its type, 1 to 500 characters: a second creation gives the first tree. */
  readonly dedupeKey?: string | undefined;
  /** The `runAt` of items that name none. Default: at once. */
  readonly runAt?: Date | string | undefined;
  /** What `after` of other jobs of the tree calls it: 1 to 200 characters. Default: its type. */
  readonly name?: string | undefined;
  /**
   * The names of other jobs of the tree that it waits for, up to 100: no worker gets its items before all of them have `SUCCEEDED`,
   * and if one does not, it is cancelled. Default: none.
   */
  readonly after?: readonly string[] | undefined;
  /** Whether no more items come than those given here. Default: false. */
  readonly sealed?: boolean | undefined;
  /** How the parent feeds it; not for the root. Default: it is not fed. */
  readonly feed?: FeedSpec | undefined;
  /** The items it starts with: up to 1,000. Default: none. */
  readonly items?: readonly ItemSpec[] | undefined;
  /**
   * An upload that becomes its items, behind those given here: servers read it, in order, and seal the job at its end. A line that can't be read,
   * or breaks the schema of the type, becomes a failed item. Default: none.
   */
  readonly file?: FileSpec | undefined;
  /** Of the root: what is called when the tree is complete, or each of its jobs. Up to 10. Default: none. */
  readonly callbacks?: readonly CallbackSpec[] | undefined;
  /**
   * Of the root: for how long the tree is kept once it is complete, in seconds: 0 (it goes at once) to 315,576,000 (ten years); null
   * for ever. Then it is deleted, with its items and results. Default: that of the server, 7 days unless it is set otherwise.
   */
  readonly retentionSeconds?: number | null | undefined;
  /**
   * Of the root: after how long the tree is cancelled if it is idle, in seconds: 1 to 315,576,000 (ten years); null for never. It is
   * idle while a job is not sealed and nothing of the tree is left to do. Default: that of the server, never unless it is set otherwise.
   */
  readonly idleExpirySeconds?: number | null | undefined;
  /** The jobs right below it. Default: none. */
  readonly children?: readonly JobSpec[] | undefined;
}

const maxDepth = 32;

/** @throws JobtreeError INVALID_INPUT, with the path to what is wrong */
export function toJobInput(job: JobSpec, path = '', above: readonly JobSpec[] = []): JobInput {
  const children = job.children ?? [];
  if (above.length === maxDepth && children.length > 0) {
    throw invalid(`${path}children`, `is more than ${maxDepth} levels below the root.`);
  }
  const line = [...above, job];
  const { feed, runAt, items, file, backoffMs, after, callbacks, ...rest } = job;
  if (feed?.payload !== undefined) check(feed.payload, `${path}feed.payload`);
  return {
    ...rest,
    backoffMs: backoffMs && [...backoffMs],
    after: after && [...after],
    callbacks: callbacks?.map(({ endpoint, on }) => ({ endpoint, ...(on !== undefined && { on }) })),
    runAt: toInstant(runAt, `${path}runAt`),
    feed: feed && toFeedInput(feed),
    items: items?.map((item, i) => toItemInput(item, `${path}items[${i}]`).input),
    file: file && toFileInput(file),
    children: children.map((child, i) => {
      const at = `${path}children[${i}]`;
      if (line.includes(child)) throw invalid(at, 'is a job above itself: a tree has no cycles.');
      return toJobInput(child, `${at}.`, line);
    }),
  };
}

function toFileInput({ uploadId, ...options }: FileSpec): FileInput {
  return { ...options, source: { uploadId } };
}

function toFeedInput({ source, ...feed }: FeedSpec): FeedInput {
  return { ...feed, ...(source !== undefined && { source }) };
}

/** With the rough size of its payload. @throws JobtreeError INVALID_INPUT */
export function toItemInput(item: ItemSpec, path: string): { input: ItemInput; size: number } {
  const { payload = null, dedupeKey, priority, runAt, serializeKey, ...rest } = item;
  for (const name in rest)
    throw invalid(`${path}.${name}`, 'is no field of an item. What is to be done goes into payload.');
  const size = check(payload, `${path}.payload`);
  return {
    input: { payload, dedupeKey, priority, runAt: toInstant(runAt, `${path}.runAt`), serializeKey },
    size,
  };
}

/** @throws JobtreeError INVALID_INPUT */
export function toItemChanges({ runAt, priority, payload }: ItemChanges): Omit<UpdateItemInput, 'itemId'> {
  if (payload !== undefined) check(payload, 'payload');
  return { priority, payload, runAt: runAt === null ? null : toInstant(runAt, 'runAt') };
}

export function toInstant(value: Date | string | undefined, field: string): string | undefined {
  if (!(value instanceof Date)) return value;
  if (Number.isNaN(value.getTime())) throw invalid(field, 'is no valid date.');
  return value.toISOString();
}

function check(value: unknown, field: string): number {
  try {
    return checkJson(value, field);
  } catch (error) {
    if (error instanceof NotJsonError)
      throw new JobtreeError('INVALID_INPUT', error.message, { field: error.path });
    throw error;
  }
}

function invalid(field: string, why: string): JobtreeError {
  return new JobtreeError('INVALID_INPUT', `${field} ${why}`, { field });
}
