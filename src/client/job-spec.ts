/** What a producer specifies for new jobs and items, and its conversion to the API's input. Everything is checked before anything is sent. */
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
  /** The work to do: any JSON, up to 1 MB of text (a setting of the server). Default: null. */
  readonly payload?: Payload | undefined;
  /** Unique among the items of its job, 1 to 500 characters: an item whose key is taken is not added. */
  readonly dedupeKey?: string | undefined;
  /** Items of a type with a higher priority go first: -32,768 to 32,767. Default: the priority of the job. */
  readonly priority?: number | undefined;
  /** Not claimed before this time; as text, in ISO 8601 with its offset. Default: the `runAt` of the job. */
  readonly runAt?: Date | string | undefined;
  /**
   * Items with the same key run one at a time, in the order in which they were added, across jobs, trees and types: 1 to 255
   * characters. Default: the item waits for no other item.
   */
  readonly serializeKey?: string | undefined;
}

/** How a job treats its items. A policy that is not set here comes from the queue of its type, or else from the server. */
export interface JobPolicies {
  /** An item that fails more often than this fails for good: 0 to 1,000. Default: 3. */
  readonly maxFailuresPerItem?: number | undefined;
  /**
   * How long an item waits after its first, second … failure, in milliseconds; the last one repeats, and an empty list means no
   * wait. Up to 100 steps. Default: 30 s, 5 min, 30 min.
   */
  readonly backoffMs?: readonly number[] | undefined;
  /** The largest share of a backoff that is added to it at random: 0 to 1. Default: 0.1. */
  readonly backoffJitter?: number | undefined;
  /** How often workers send a heartbeat, in milliseconds: 1,000 to 86,400,000. Three intervals without one are a failure. Default: 60,000. */
  readonly heartbeatIntervalMs?: number | undefined;
  /** The priority of items that have none of their own: -32,768 to 32,767. Default: 0. */
  readonly priority?: number | undefined;
  /**
   * If more items than this fail for good, the job fails: its pending items are cancelled, and its outcome is `FAILED`. 0 to
   * 2,147,483,647. With `toleratedFailurePercentage`, it fails when either is exceeded. Default: any number is tolerated.
   */
  readonly toleratedFailureCount?: number | undefined;
  /** The same as a percentage of its items: 0 to 100. It applies once the job is sealed. Default: any share is tolerated. */
  readonly toleratedFailurePercentage?: number | undefined;
  /**
   * What becomes of the serialize key of an item that failed for good: the next item goes (`CONTINUE`), or the failed one keeps
   * the key until somebody replays or discards it (`BLOCK`). Default: `CONTINUE`.
   */
  readonly serializeOnFailure?: SerializeOnFailure | undefined;
  /** Whether its results are among the results of the tree. Default: true for a job without children. */
  readonly finalStage?: boolean | undefined;
}

/**
 * How successes of the parent become items. Paths start with `payload`, `result` or (with `forEach`) `element`. A report for which a
 * path leads nowhere is INVALID, unless the path ends with `?`.
 */
export interface FeedSpec {
  /** `SUCCESSES`: each success makes items by this mapping. `REPORTS`: only what handlers `feed` makes items. Default: `SUCCESSES`. */
  readonly source?: FeedSource | undefined;
  /** The path to a list, each element of which makes an item. Default: one item for each success. */
  readonly forEach?: string | undefined;
  /** A path, or an object whose values are paths. Default: the element with `forEach`, else the whole result. */
  readonly payload?: string | Readonly<Record<string, string>> | undefined;
  /** The path to the serialize key of the new item: a text or a number; null for none. Default: no key. */
  readonly serializeKey?: string | undefined;
}

/** What to call when a tree is complete. */
export interface CallbackSpec {
  /** The name of an endpoint, as given to `client.callbacks.putEndpoint`. */
  readonly endpoint: string;
  /** `TREE`: called when the tree is complete. `JOB`: called for each of its jobs that is complete. Default: `TREE`. */
  readonly on?: CallbackTrigger | undefined;
}

/** A file that becomes the items of a job. It may be compressed with gzip, or with zstd if the server's Node.js supports that. */
export interface FileSpec {
  /** The id that `client.upload` returned. */
  readonly uploadId: string;
  /** What the file is made of: rows of CSV, lines of JSON, one JSON array, lines. */
  readonly format: FileFormat;
  /** A name of the Encoding Standard, such as `windows-1252`. Default: UTF-8, or UTF-16 if a byte order mark says so. */
  readonly encoding?: string | undefined;
  /** For CSV: what separates cells. Default: a comma. */
  readonly delimiter?: string | undefined;
  /** For CSV: what encloses cells. Default: `"`. */
  readonly quote?: string | undefined;
  /** For CSV: whether the first row names the columns; if not, each row becomes a list of texts. Default: true. */
  readonly header?: boolean | undefined;
}

/** A new job with all jobs below it: up to 1,000 jobs, up to 32 levels below the root. */
export interface JobSpec extends JobPolicies {
  /** The kind of work its items are: the name that workers claim by. 1 to 200 characters. */
  readonly type: string;
  /** Unique among the jobs of its type, 1 to 500 characters: creating a job with the same key again returns the first tree. */
  readonly dedupeKey?: string | undefined;
  /** The `runAt` of items that have none. Default: at once. */
  readonly runAt?: Date | string | undefined;
  /** The name by which `after` of other jobs of the tree refers to it: 1 to 200 characters. Default: its type. */
  readonly name?: string | undefined;
  /**
   * The names of other jobs of the tree that it waits for, up to 100. No worker gets its items before all of those jobs ended
   * `SUCCEEDED` or `PARTIAL`; if one ends `FAILED` or `CANCELLED`, this job is cancelled. Default: none.
   */
  readonly after?: readonly string[] | undefined;
  /** Whether it gets no more items than those given here. Default: false. */
  readonly sealed?: boolean | undefined;
  /** How the parent feeds it; not for the root. Default: it is not fed. */
  readonly feed?: FeedSpec | undefined;
  /**
   * The items it starts with: of the root any number, of others up to 1,000, since these are created together with the tree: add more
   * with `addItems`, and seal the job then. Default: none.
   */
  readonly items?: readonly ItemSpec[] | undefined;
  /**
   * An upload that becomes its items, after those given here: servers read it in order, and seal the job at its end. A line that
   * can't be read, or that violates the schema of the type, becomes a failed item. Default: none.
   */
  readonly file?: FileSpec | undefined;
  /** Root only: the endpoints to call when the tree, or each of its jobs, is complete. Up to 10. Default: none. */
  readonly callbacks?: readonly CallbackSpec[] | undefined;
  /**
   * Root only: how long the tree is kept once it is complete, in seconds: 0 (it is deleted at once) to 315,576,000 (ten years);
   * null for ever. Then it is deleted, with its items and results. Default: the server's setting, which is 7 days unless it is
   * changed.
   */
  readonly retentionSeconds?: number | null | undefined;
  /**
   * Root only: after how long an idle tree is cancelled, in seconds: 1 to 315,576,000 (ten years); null for never. A tree is idle
   * while it has an unsealed job but nothing left to do. Default: the server's setting, which is never unless it is changed.
   */
  readonly idleExpirySeconds?: number | null | undefined;
  /** The jobs right below it. Default: none. */
  readonly children?: readonly JobSpec[] | undefined;
}

const maxDepth = 32;
const lists = ['backoffMs', 'after', 'items', 'callbacks', 'children'] as const;

/** @throws JobtreeError INVALID_INPUT, with the path to what is wrong */
export function toJobInput(job: JobSpec, path = '', above: readonly JobSpec[] = []): JobInput {
  for (const name of lists) checkList(job[name], `${path}${name}`);
  const children = job.children ?? [];
  if (above.length === maxDepth && children.length > 0) {
    throw invalid(`${path}children`, `is more than ${maxDepth} levels below the root.`);
  }
  const line = [...above, job];
  const { feed, runAt, items, file, backoffMs, after, callbacks, sealed, serializeOnFailure, ...rest } = job;
  if (feed?.payload !== undefined) checkValue(feed.payload, `${path}feed.payload`);
  return {
    ...rest,
    ...(sealed !== undefined && { sealed }),
    ...(serializeOnFailure !== undefined && { serializeOnFailure }),
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

/** Also returns the rough size of its payload. @throws JobtreeError INVALID_INPUT */
export function toItemInput(item: ItemSpec, path: string): { input: ItemInput; size: number } {
  // Without types, a plain payload would else be taken apart as an item, and its own payload be null.
  if (typeof item !== 'object' || item === null || Array.isArray(item))
    throw invalid(path, 'must be an object with a payload: { payload: … }.');
  const { payload = null, dedupeKey, priority, runAt, serializeKey, ...rest } = item;
  for (const name in rest)
    throw invalid(`${path}.${name}`, 'is not a field of an item. The work to do goes into payload.');
  const size = checkValue(payload, `${path}.payload`);
  return {
    input: { payload, dedupeKey, priority, runAt: toInstant(runAt, `${path}.runAt`), serializeKey },
    size,
  };
}

/** @throws JobtreeError INVALID_INPUT */
export function toItemChanges({ runAt, priority, payload }: ItemChanges): Omit<UpdateItemInput, 'itemId'> {
  if (payload !== undefined) checkValue(payload, 'payload');
  return { priority, payload, runAt: runAt === null ? null : toInstant(runAt, 'runAt') };
}

/** What callers without types pass instead of a list is refused by its name. @throws JobtreeError INVALID_INPUT */
export function checkList(value: unknown, field: string): void {
  if (value !== undefined && !Array.isArray(value)) throw invalid(field, 'must be a list.');
}

export function toInstant(value: Date | string | undefined, field: string): string | undefined {
  if (!(value instanceof Date)) return value;
  if (Number.isNaN(value.getTime())) throw invalid(field, 'is not a valid date.');
  return value.toISOString();
}

/** Returns its rough size. @throws JobtreeError INVALID_INPUT for a value that JSON can't carry */
export function checkValue(value: unknown, field: string): number {
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
