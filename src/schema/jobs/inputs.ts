/** The inputs of producers: items and trees of jobs. */
import type { NewCallback } from '../../domain/callbacks/add-callbacks.ts';
import type { NewJob } from '../../domain/jobs/create-job.ts';
import { builder } from '../core/builder.ts';
import { FileInput, type GivenFile } from '../files/file-input.ts';

export const ItemInput = builder.inputType('ItemInput', {
  description: 'A new item.',
  fields: (t) => ({
    payload: t.field({
      type: 'JSON',
      description: 'The work to do: any JSON, up to 1 MB of text (a setting of the server). Default: null.',
    }),
    dedupeKey: t.string({
      description:
        'Unique among the items of the job, 1 to 500 characters: if the key already exists, no item is added. Default: none.',
    }),
    priority: t.int({
      description:
        'Items of a type with a higher priority are claimed first: -32,768 to 32,767. Default: the priority of the job.',
    }),
    runAt: t.field({
      type: 'DateTime',
      description: "The item can't be claimed before this time. Default: the `runAt` of the job.",
    }),
    serializeKey: t.string({
      description:
        'Items with the same key run one at a time, in the order in which they were added, across jobs, trees, types and priorities: 1 to 255 characters. An item that is retried keeps its place, and a scheduled one holds back those behind it. Items of a job that waits for other jobs take their places when the wait is over. Default: the item waits for no other item.',
    }),
  }),
});

export const SerializeOnFailure = builder.enumType('SerializeOnFailure', {
  description: 'What happens to the serialize key of an item that failed for good.',
  values: {
    CONTINUE: {
      description:
        'The next item with the key runs. If the failed item is replayed, it goes to the end of the line.',
    },
    BLOCK: {
      description:
        'The item keeps its key: if it is replayed it goes first; if it is discarded, or its job is cancelled or deleted, the next item runs.',
    },
  } as const,
});

export const FeedSource = builder.enumType('FeedSource', {
  description: 'Where the items of a fed job come from.',
  values: {
    SUCCESSES: {
      description: 'Each success of the parent creates items through the mapping; reports may name more.',
    },
    REPORTS: { description: 'Only the new items that reports of the parent name.' },
  } as const,
});

const FeedInput = builder.inputType('FeedInput', {
  description:
    'How successes of the parent become items, in the transaction that accepts the report. A path is `payload`, `result` or (with `forEach`) `element`, followed by keys or list positions, separated by dots: `result.lines.0.amount`. A report is INVALID if a path leads nowhere, unless the path ends with `?`: then it gives null.',
  fields: (t) => ({
    source: t.field({
      type: FeedSource,
      required: true,
      defaultValue: 'SUCCESSES',
      description: 'Where the items come from. Default: SUCCESSES.',
    }),
    forEach: t.string({
      description:
        'The path to a list: each element becomes an item, and an empty list creates none. A report is INVALID if the path does not lead to a list (with `?`, to a list, null or nothing), or if it would create more than 1,000 items. Default: one item for each success.',
    }),
    payload: t.field({
      type: 'JSON',
      description:
        'The payload of the new item: a path, or an object whose values are paths. A report that would create more than about 20 MB of payloads is INVALID. Default: the element with `forEach`, else the whole result.',
    }),
    serializeKey: t.string({
      description:
        'The path to the `serializeKey` of the new item: a string of 1 to 255 characters, or a number; null for none. A report in which it leads to anything else is INVALID. Default: no key.',
    }),
  }),
});

export const CallbackTrigger = builder.enumType('CallbackTrigger', {
  description: 'When a callback is sent.',
  values: {
    TREE: { description: 'When the tree is complete.' },
    JOB: { description: 'When a job of the tree is complete, for each of them.' },
  } as const,
});

export const CallbackInput = builder.inputRef<NewCallback>('CallbackInput');
CallbackInput.implement({
  description:
    'An endpoint to call when the tree is complete. After a replay, it is called again when the tree is complete again.',
  fields: (t) => ({
    endpoint: t.string({
      required: true,
      description: 'The name of an endpoint: `putCallbackEndpoint`. INVALID_INPUT if it does not exist.',
    }),
    on: t.field({
      type: CallbackTrigger,
      required: true,
      defaultValue: 'TREE',
      description: 'When to call it. For both, give two callbacks. Default: TREE.',
    }),
  }),
});

export interface GivenJob extends Omit<NewJob, 'file' | 'children'> {
  readonly file?: GivenFile | null | undefined;
  readonly children?: readonly GivenJob[] | null | undefined;
}

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

type Types = typeof builder.$inferSchemaTypes;
type Fields = PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>;

/** How a job treats its items. */
const policyFields = (t: Fields) => ({
  priority: t.int({
    description:
      'The priority of items without their own: -32,768 to 32,767. Default: that of the queue of its type, else 0.',
  }),
  runAt: t.field({
    type: 'DateTime',
    description: 'The `runAt` of items without their own. Default: at once.',
  }),
  maxFailuresPerItem: t.int({
    description:
      'An item that fails more often than this has failed for good: 0 to 1,000. If its worker died with it in the last attempt, it is tried up to three times more, alone, unless this is 0. Default: that of the queue of its type, else 3.',
  }),
  backoffMs: t.intList({
    description:
      'How long an item waits after its first, second … failure, in milliseconds, each 0 to 2,147,483,647; the last wait repeats, and an empty list means no wait. Up to 100 steps. Default: that of the queue of its type, else 30 s, 5 min, 30 min.',
  }),
  backoffJitter: t.float({
    description:
      'The largest share of each backoff that is added to it at random: 0 to 1. Default: that of the queue of its type, else 0.1.',
  }),
  heartbeatIntervalMs: t.int({
    description:
      'How often a worker must send a heartbeat, in milliseconds: 1,000 to 86,400,000; silence for three intervals is a failure. Default: that of the queue of its type, else 60,000.',
  }),
  toleratedFailureCount: t.int({
    description:
      'The job fails if more items than this fail for good: 0 to 2,147,483,647. Its pending items are then cancelled, and its outcome is FAILED. Reports that arrive at the same time can exceed the number slightly. With `toleratedFailurePercentage`, the job fails when either limit is exceeded. Default: any number is tolerated.',
  }),
  toleratedFailurePercentage: t.float({
    description:
      'The job fails if more than this percentage of its items fail for good, as with `toleratedFailureCount`: 0 to 100. It applies once the job is sealed, since the total is unknown before that. Default: any share is tolerated.',
  }),
  serializeOnFailure: t.field({
    type: SerializeOnFailure,
    required: true,
    defaultValue: 'CONTINUE',
    description: 'What happens to the serialize key of an item that failed for good. Default: CONTINUE.',
  }),
});

/** What belongs to a whole tree. */
const rootFields = (t: Fields) => ({
  callbacks: t.field({
    type: [CallbackInput],
    description:
      'For the root: the endpoints to call when the tree, or each of its jobs, is complete. Up to 10. Default: none.',
  }),
  traceContext: t.field({
    type: TraceContextInput,
    description:
      'For the root: the trace of the items that are given here; workers get it with them. Default: none.',
  }),
  retentionSeconds: t.int({
    description:
      'For the root: how long the tree is kept once it is complete, in seconds: 0 (it is deleted at once) to 315,576,000 (ten years); null for ever. Then it is reaped, that is, deleted with its items and results. Default: the setting of the server, which is 7 days unless it is changed.',
  }),
});

export const JobInput = builder.inputRef<GivenJob>('JobInput');
JobInput.implement({
  description:
    'A new job, with all jobs below it. A tree has up to 1,000 jobs, and up to 32 levels below its root.',
  fields: (t) => ({
    type: t.string({
      required: true,
      description:
        'The kind of work of the items: the name by which workers claim them. 1 to 200 characters.',
    }),
    dedupeKey: t.string({
      description:
        'Unique among the jobs of its type, 1 to 500 characters. At the root, an existing key returns the existing tree, and nothing is created; below the root it is refused. Default: none.',
    }),
    ...policyFields(t),
    name: t.string({
      description:
        'The name by which `after` of other jobs of the tree refers to it, 1 to 200 characters; it is not stored. Default: its type.',
    }),
    after: t.stringList({
      description:
        'The names of other jobs of the tree that it waits for, up to 100. Items can be added to it, but no worker gets them before all those jobs are complete with the outcome SUCCEEDED or PARTIAL; if one ends FAILED or CANCELLED, this job is cancelled. INVALID_INPUT for a name that no job or several jobs of the tree have, for the job itself, and for a circle (a fed job also waits for its parent). Default: none.',
    }),
    finalStage: t.boolean({
      description:
        'Whether its results are among the results of the tree. Default: true for a job without children.',
    }),
    sealed: t.boolean({
      required: true,
      defaultValue: false,
      description:
        'Whether no items will be added later. A job that is sealed while empty is complete at once. Default: false.',
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
        "A file that becomes its items, after those given here; the end of the file seals the job. Not for a fed or sealed job. A line that can't be read, or that does not match the schema of the type, becomes a failed item. Default: none.",
    }),
    ...rootFields(t),
    idleExpirySeconds: t.int({
      description:
        'For the root: the time after which the tree is cancelled if it is idle, in seconds: 1 to 315,576,000 (ten years); null for never. It is idle while a job is not sealed and the tree has no work left. Default: the setting of the server, which is never unless it is changed.',
    }),
    children: t.field({ type: [JobInput], description: 'The jobs directly below it. Default: none.' }),
  }),
});

/** One piece of work: the options of a sealed job of one item. */
export interface GivenWork
  extends Pick<
    NewJob,
    | 'type'
    | 'dedupeKey'
    | 'priority'
    | 'runAt'
    | 'maxFailuresPerItem'
    | 'backoffMs'
    | 'backoffJitter'
    | 'heartbeatIntervalMs'
    | 'toleratedFailureCount'
    | 'toleratedFailurePercentage'
    | 'serializeOnFailure'
    | 'callbacks'
    | 'traceContext'
    | 'retentionSeconds'
  > {
  readonly payload?: unknown;
  readonly serializeKey?: string | null | undefined;
}

export const EnqueueInput = builder.inputRef<GivenWork>('EnqueueInput');
EnqueueInput.implement({
  description:
    'One piece of work: a sealed job with a single item. Its fields are those of JobInput and ItemInput.',
  fields: (t) => ({
    type: t.string({
      required: true,
      description: 'The kind of work: the name by which workers claim it. 1 to 200 characters.',
    }),
    payload: t.field({
      type: 'JSON',
      description: 'The work to do: any JSON, up to 1 MB of text (a setting of the server). Default: null.',
    }),
    dedupeKey: t.string({
      description:
        'Unique among the jobs of its type, 1 to 500 characters: an existing key returns the existing job, and nothing is created. Default: none.',
    }),
    serializeKey: t.string({
      description:
        'Items with the same key run one at a time, in the order in which they were added: 1 to 255 characters. Default: it waits for no other item.',
    }),
    ...policyFields(t),
    ...rootFields(t),
  }),
});
