/** What producers give: items and trees of jobs. */
import type { NewCallback, NewJob } from '../domain/create-job.ts';
import type { FileOptions } from '../domain/file-imports.ts';
import { builder } from './builder.ts';
import type { ReceivedFile } from './received-file.ts';

export const ItemInput = builder.inputType('ItemInput', {
  description: 'A new item.',
  fields: (t) => ({
    payload: t.field({
      type: 'JSON',
      description:
        'What is to be done: any JSON, up to 1 MB of text (a setting of the server). Default: null.',
    }),
    dedupeKey: t.string({
      description:
        'Unique among the items of the job, 1 to 500 characters: with a key that is taken no item is added.',
    }),
    priority: t.int({
      description:
        'Among items of a type, higher goes first: -32,768 to 32,767. Default: the priority of the job.',
    }),
    runAt: t.field({
      type: 'DateTime',
      description: 'Not to be claimed before this. Default: the `runAt` of the job.',
    }),
    serializeKey: t.string({
      description:
        'Items with one key run one at a time, in the order in which they were added, whatever their jobs, trees, types and priorities: 1 to 255 characters. A retry keeps its place, and one that is scheduled holds back those behind it. Items of a job that waits for others take their places when it waits no more. Default: it waits for no other item.',
    }),
  }),
});

export const SerializeOnFailure = builder.enumType('SerializeOnFailure', {
  description: 'What becomes of the serialize key of an item that failed for good.',
  values: {
    CONTINUE: {
      description:
        'The next item with the key goes. If the failed one is replayed, it goes to the end of the line.',
    },
    BLOCK: {
      description:
        'The item keeps its key: if it is replayed it goes first, and if it is discarded, or its job is cancelled or deleted, the next one goes.',
    },
  } as const,
});

export const FeedSource = builder.enumType('FeedSource', {
  description: 'Where the items of a fed job come from.',
  values: {
    SUCCESSES: {
      description: 'Each success of the parent makes items by the mapping; reports may name more.',
    },
    REPORTS: { description: 'Only the new items that reports of the parent name.' },
  } as const,
});

const FeedInput = builder.inputType('FeedInput', {
  description:
    'How successes of the parent become items, in the transaction that takes the report. A path is `payload`, `result` or (with `forEach`) `element`, then keys or list positions behind dots: `result.lines.0.amount`. A path to nothing gives null.',
  fields: (t) => ({
    source: t.field({
      type: FeedSource,
      required: true,
      defaultValue: 'SUCCESSES',
      description: 'Default: SUCCESSES.',
    }),
    forEach: t.string({
      description:
        'The path to a list: each element makes an item, none for an empty list. A report in which it leads to no list, or that would make more than 1,000 items, is INVALID. Default: one item for each success.',
    }),
    payload: t.field({
      type: 'JSON',
      description:
        'The payload of the new item: a path, or an object whose values are paths. A report that would make more than about 20 MB of payloads is INVALID. Default: the element with `forEach`, else the whole result.',
    }),
    serializeKey: t.string({
      description:
        'The path to the `serializeKey` of the new item: a text of 1 to 255 characters, or a number; null for none. A report in which it leads to anything else is INVALID. Default: no key.',
    }),
  }),
});

export const CallbackTrigger = builder.enumType('CallbackTrigger', {
  description: 'When a callback is made.',
  values: {
    TREE: { description: 'When the tree is complete.' },
    JOB: { description: 'When a job of the tree is complete, for each of them.' },
  } as const,
});

const CallbackInput = builder.inputRef<NewCallback>('CallbackInput');
CallbackInput.implement({
  description:
    'What to call when the tree is complete. It is called again when that is so once more, after a replay.',
  fields: (t) => ({
    endpoint: t.string({
      required: true,
      description: 'The name of an endpoint: `putCallbackEndpoint`. INVALID_INPUT if there is none.',
    }),
    on: t.field({
      type: CallbackTrigger,
      required: true,
      defaultValue: 'TREE',
      description: 'When. For both give two callbacks. Default: TREE.',
    }),
  }),
});

export const FileFormat = builder.enumType('FileFormat', {
  description: 'What a file is made of.',
  values: {
    CSV: {
      description:
        'Rows: each becomes an object of texts by the names in the first row. `\\r\\n` and `\\n` end a row, also in one file.',
    },
    NDJSON: { description: 'Lines of JSON: each becomes an item, as it stands there.' },
    JSON_ARRAY: { description: 'One JSON array: each of its elements becomes an item, as it stands there.' },
    LINES: { description: 'Lines: each becomes a text.' },
  } as const,
});

/** Exactly one of them. */
interface GivenSource {
  readonly uploadId?: string | null | undefined;
  readonly file?: ReceivedFile | null | undefined;
}

/** A file as clients name it: by the id of an upload, or as a part of the request. */
export interface GivenFile extends FileOptions {
  readonly source: GivenSource;
}

export interface GivenJob extends Omit<NewJob, 'file' | 'children'> {
  readonly file?: GivenFile | null | undefined;
  readonly children?: readonly GivenJob[] | null | undefined;
}

const FileSource = builder.inputRef<GivenSource>('FileSourceInput');
FileSource.implement({
  description: 'Where a file is.',
  isOneOf: true,
  fields: (t) => ({
    uploadId: t.id({
      description:
        'An upload, which must be complete: `POST /api/uploads`, `createUpload`. NOT_FOUND if there is none.',
    }),
    file: t.field({
      type: 'File',
      description:
        'A part of the request. It is stored as an upload; if the job is not created nothing is left of it.',
    }),
  }),
});

export const FileInput = builder.inputRef<GivenFile>('FileInput');
FileInput.implement({
  description:
    'A file that becomes the items of a job: servers read it, add its rows in order and seal the job at its end. It may be compressed by gzip, or by zstd where Node.js knows that.',
  fields: (t) => ({
    source: t.field({ type: FileSource, required: true, description: 'Where it is.' }),
    format: t.field({ type: FileFormat, required: true, description: 'What it is made of.' }),
    encoding: t.string({
      description:
        'How its text is encoded: a name of the Encoding Standard, such as `utf-8`, `utf-16le`, `windows-1252`. Default: UTF-8, or UTF-16 if a byte order mark says so.',
    }),
    delimiter: t.string({
      description: 'Of CSV: what stands between cells, one ASCII character. Default: a comma.',
    }),
    quote: t.string({
      description:
        'Of CSV: what stands around cells with delimiters or line breaks, one ASCII character; doubled within them. Default: `"`.',
    }),
    header: t.boolean({
      description:
        'Of CSV: whether the first row names the columns. Without, each row becomes a list of texts. Default: true.',
    }),
  }),
});

export const TraceContextInput = builder.inputType('TraceContextInput', {
  description: 'A W3C trace context: the span that new items come from.',
  fields: (t) => ({
    traceparent: t.string({
      required: true,
      description: 'As in the header `traceparent`: `00-<32 hexadecimal digits>-<16>-<2>`.',
    }),
    tracestate: t.string({
      description: 'As in the header `tracestate`: 1 to 512 visible ASCII characters. Default: none.',
    }),
  }),
});

export const JobInput = builder.inputRef<GivenJob>('JobInput');
JobInput.implement({
  description:
    'A new job, with all jobs below it. A tree has up to 1,000 jobs, and up to 32 levels below its root.',
  fields: (t) => ({
    type: t.string({
      required: true,
      description: 'What kind of work the items are: the name that workers claim by. 1 to 200 characters.',
    }),
    dedupeKey: t.string({
      description:
        'Unique among the jobs of its type, 1 to 500 characters. At the root, a key that is taken gives the existing tree and creates nothing; below the root it is refused.',
    }),
    priority: t.int({
      description:
        'The priority of items that name none: -32,768 to 32,767. Default: that of the queue of its type, else 0.',
    }),
    runAt: t.field({
      type: 'DateTime',
      description: 'The `runAt` of items that name none. Default: at once.',
    }),
    maxFailuresPerItem: t.int({
      description:
        'An item that fails more often than this has failed for good: 0 to 1,000. Default: that of the queue of its type, else 3.',
    }),
    backoffMs: t.intList({
      description:
        'How long an item waits after its first, second … failure, in milliseconds; the last one repeats, and an empty list means not at all. Up to 100 steps. Default: that of the queue of its type, else 30 s, 5 min, 30 min.',
    }),
    backoffJitter: t.float({
      description:
        'Up to this share is added to each backoff, at random: 0 to 1. Default: that of the queue of its type, else 0.1.',
    }),
    heartbeatIntervalMs: t.int({
      description:
        'How often a worker is to heartbeat, in milliseconds: 1,000 to 86,400,000; silence for three intervals is a failure. Default: that of the queue of its type, else 60,000.',
    }),
    toleratedFailureCount: t.int({
      description:
        'With more items failed for good than this the job fails: 0 to 2,147,483,647. What is pending in it is cancelled, and its outcome is FAILED. Items that are being reported meanwhile may make it a few more. With `toleratedFailurePercentage` the job fails when either is passed. Default: any number is tolerated.',
    }),
    toleratedFailurePercentage: t.float({
      description:
        'With more than this share of its items failed for good the job fails, as with `toleratedFailureCount`: 0 to 100. It counts once the job is sealed, since a share of an unknown whole means nothing. Default: any share is tolerated.',
    }),
    serializeOnFailure: t.field({
      type: SerializeOnFailure,
      description: 'What becomes of the serialize key of an item that failed for good. Default: CONTINUE.',
    }),
    name: t.string({
      description:
        'What `after` of other jobs of the tree calls it, 1 to 200 characters; it is not kept. Default: its type.',
    }),
    after: t.stringList({
      description:
        'The names of other jobs of the tree that it waits for, up to 100. Its items can be added, but no worker gets them before all those jobs are complete with the outcome SUCCEEDED; if one ends otherwise, this job is cancelled. INVALID_INPUT for a name that no job or several jobs of the tree have, the job itself, and a circle, in which a fed job also waits for its parent. Default: none.',
    }),
    finalStage: t.boolean({
      description:
        'Whether its results are among the results of the tree. Default: true for a job without children.',
    }),
    sealed: t.boolean({
      description:
        'Whether no more items will come than those given here. A job that is sealed while empty is complete at once. Default: false.',
    }),
    feed: t.field({
      type: FeedInput,
      description:
        'How the parent feeds it. A fed job is sealed when its parent is complete. Default: it is not fed.',
    }),
    items: t.field({
      type: [ItemInput],
      description: 'The items it starts with: up to 1,000. Default: none.',
    }),
    file: t.field({
      type: FileInput,
      description:
        'An upload that becomes its items, behind those given here; the end of the file seals the job. Not for a fed or sealed job. A line that can not be read, or breaks the schema of the type, becomes a failed item. Default: none.',
    }),
    callbacks: t.field({
      type: [CallbackInput],
      description:
        'Of the root: what is called when the tree is complete, or each of its jobs. Up to 10. Default: none.',
    }),
    traceContext: t.field({
      type: TraceContextInput,
      description:
        'Of the root: the trace that the items of the tree belong to which are given here; workers are told it with them. Default: none.',
    }),
    retentionSeconds: t.int({
      description:
        'Of the root: for how long the tree is kept once it is complete, in seconds: 0 (it goes at once) to 315,576,000 (ten years); null for ever. Then it is reaped: deleted, with its items and results. Default: that of the server, 7 days unless it is set otherwise.',
    }),
    idleExpirySeconds: t.int({
      description:
        'Of the root: after how long the tree is cancelled if it is idle, in seconds: 1 to 315,576,000 (ten years); null for never. It is idle while a job is not sealed and nothing of the tree is left to do. Default: that of the server, never unless it is set otherwise.',
    }),
    children: t.field({ type: [JobInput], description: 'The jobs right below it. Default: none.' }),
  }),
});
