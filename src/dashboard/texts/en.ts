/** Everything that the dashboard says, in English. */
import type { StandstillReason } from '../../generated/dashboard.ts';
import { formatDuration, formatTime } from './formats.ts';

const number = new Intl.NumberFormat('en');

const things = (count: number, one: string, many: string) =>
  `${number.format(count)} ${count === 1 ? one : many}`;

/** What the sentence about a standstill says. */
export interface StandstillFacts {
  readonly type: string;
  readonly until?: string | null;
  readonly since?: string | null;
  readonly limit?: number | null;
  readonly code?: string | null;
  readonly serializeKey?: string | null;
  /** The names of the jobs that are waited for. */
  readonly awaited: string;
}

const at = (time: string | null | undefined) => (time == null ? 'later' : `at ${formatTime(time)}`);
const key = (name: string | null | undefined) =>
  name == null ? 'its serialize key' : `the serialize key ${name}`;

const standstills: Readonly<Record<StandstillReason, (facts: StandstillFacts) => string>> = {
  PAUSED: ({ type }) => `${type} is paused.`,
  NO_WORKER: ({ type, since }) =>
    since == null
      ? `No worker of ${type} is connected.`
      : `No worker of ${type} is connected; the last work on it was done ${at(since)}.`,
  KEY_HELD: ({ serializeKey }) =>
    `An item that failed for good keeps ${key(serializeKey)}: replay or discard it.`,
  RATE_LIMIT: ({ type, until }) => `The rate of ${type} is used up; it goes on ${at(until)}.`,
  CONCURRENCY_LIMIT: ({ type, limit }) => `${type} is at its limit of ${limit ?? 0} at a time.`,
  WORKERS_BUSY: ({ type }) => `All workers of ${type} are busy.`,
  QUEUED: ({ type }) => `Ready for the next free worker of ${type}.`,
  BLOCKED: ({ serializeKey }) => `Another item has ${key(serializeKey)}.`,
  RETRYING: ({ code, until }) =>
    `${code == null ? 'It failed' : `It failed with ${code}`}; the next attempt is ${at(until)}.`,
  SCHEDULED: ({ until }) => (until == null ? 'Scheduled for later.' : `Scheduled for ${formatTime(until)}.`),
  IMPORTING: ({ since }) =>
    since == null
      ? 'Its file is being read.'
      : `Its file can't be read: the object store has been away since ${formatTime(since)}.`,
  NOT_SEALED: () => 'There is nothing to do, and the job is not sealed: more items may come.',
  WAITS_FOR_JOBS: ({ awaited }) => `It waits for ${awaited || 'other jobs'}.`,
  WAITS_FOR_PARENT: ({ awaited }) => `Its items come from ${awaited || 'its parent'}, which is not complete.`,
  FAILED: ({ code }) => `It failed for good${code == null ? '' : `, with ${code}`}.`,
  CANCELLED: () => 'It was cancelled.',
  COMPLETE: () => 'Nothing is left to do.',
};

export const en = {
  skip: 'Skip to the content',
  nav: {
    label: 'Pages',
    trees: 'Trees',
    deadLetters: 'Dead letters',
    queues: 'Queues',
    workers: 'Workers',
    keys: 'Serialize keys',
    schedules: 'Schedules',
    operations: 'Operations',
    callbacks: 'Callbacks',
    audit: 'Audit',
  },
  fresh: {
    live: 'Live',
    asOf: (time: string) => `As of ${time}`,
    pause: 'Pause',
    resume: 'Resume',
  },
  signIn: {
    title: 'Sign in',
    why: 'This server asks who you are. Enter an API key or a token; this tab keeps it until it is closed.',
    token: 'Key or token',
    submit: 'Sign in',
    signOut: 'Sign out',
  },
  state: {
    WAITING: 'Waiting',
    RUNNING: 'Running',
    COMPLETED: 'Complete',
    CANCELLED: 'Cancelled',
    SUCCEEDED: 'Succeeded',
    PARTIAL: 'Partly failed',
    FAILED: 'Failed',
    SCHEDULED: 'Scheduled',
    RETRYING: 'Retrying',
    BLOCKED: 'Blocked',
    READY: 'Ready',
    FINISHED: 'Finished',
    PENDING: 'Pending',
    DELIVERED: 'Delivered',
    DELETING: 'Deleting',
    IDLE: 'Idle',
  } as Readonly<Record<string, string>>,
  items: (count: number) => things(count, 'item', 'items'),
  progress: {
    of: (done: number, count: number) => `${number.format(done)} of ${things(count, 'item', 'items')}`,
    percent: (percent: number) => `${percent}%`,
    failed: (count: number) => `${number.format(count)} failed`,
    cancelled: (count: number) => `${number.format(count)} cancelled`,
    open: 'more may come',
  },
  actions: 'Actions',
  loading: 'Loading…',
  retry: 'Try again',
  more: 'Show more',
  none: 'Nothing here.',
  close: 'Close',
  cancel: 'Not now',
  copy: {
    id: 'Copy id',
    graphql: 'Copy as GraphQL',
    command: 'Copy as command',
    done: 'Copied',
  },
  trees: {
    title: 'Trees',
    type: 'Type',
    status: 'Status',
    any: 'Any',
    order: 'Order',
    orders: {
      NEWEST_FIRST: 'Newest first',
      OLDEST_FIRST: 'Oldest first',
      MOST_FAILURES_FIRST: 'Most failures first',
      LEAST_PROGRESS_FIRST: 'Least progress first',
      MOST_PROGRESS_FIRST: 'Most progress first',
    },
    filter: 'Filter',
    filters: 'Filters',
    apply: 'Apply',
    remove: (condition: string) => `Remove the filter ${condition}`,
    removeAll: 'Show all',
    outcomeOf: 'Outcome',
    key: 'Dedupe key begins with',
    schedule: 'Schedule',
    failures: 'Failures',
    withFailures: 'With failures',
    withoutFailures: 'Without failures',
    createdFrom: 'Created from',
    createdUntil: 'Created before',
    completedFrom: 'Complete from',
    completedUntil: 'Complete before',
    is: (name: string, value: string) => `${name}: ${value}`,
    match: (count: number) => (count === 1 ? '1 tree matches' : `${number.format(count)} trees match`),
    atLeast: (count: number, since: string) =>
      `At least ${number.format(count)} trees match: those created since ${since} were counted`,
    histogram: 'Trees by time of creation',
    bar: (count: number, from: string, until: string) =>
      `${things(count, 'tree', 'trees')}, ${from} to ${until}`,
    created: 'Created',
    progress: 'Progress',
    outcome: 'State',
    empty: 'No tree meets these conditions.',
    searched: 'None of the trees looked at so far meets these conditions. There are more.',
    first: 'Nobody has created a tree yet. Try it: jobtree demo, or the first example of the README.',
  },
  tree: {
    of: (type: string) => `Tree ${type}`,
    jobs: 'Jobs',
    job: 'Job',
    flow: 'Fed by its parent',
    waitsFor: (types: string) => `waits for ${types}`,
    created: 'Created',
    reaped: 'Deleted at',
    callbacks: 'Callbacks',
    schedule: 'From schedule',
    openItems: 'Items',
    import: (status: string, bad: number) =>
      bad === 0
        ? `import ${status.toLowerCase()}`
        : `import ${status.toLowerCase()}, ${things(bad, 'bad line', 'bad lines')}`,
    seal: 'Seal',
    sealAsk: (type: string) => `Seal ${type}? No more items can be added to it afterwards.`,
    cancel: 'Cancel',
    cancelAsk: (type: string) =>
      `Cancel ${type} and every job below it? Items without an outcome are cancelled. This can't be undone.`,
    remove: 'Delete tree',
    removeAsk: "Delete the whole tree, with all payloads and results? This can't be undone.",
    replay: 'Replay failures',
    gone: 'There is no such tree, or it was deleted.',
  },
  strip: {
    label: 'Items in their order',
    help: 'Arrow keys move, plus and minus zoom, Enter opens the item.',
    whole: 'Whole job',
    zoomIn: 'Zoom in',
    zoomOut: 'Zoom out',
    left: 'Earlier items',
    right: 'Later items',
    openItem: 'Open item',
    shown: (count: number, all: number) => `${number.format(count)} of ${things(all, 'item', 'items')} shown`,
    at: (first: number, last: number, total: number, counts: string) =>
      `${first === last ? `Item ${number.format(first)}` : `Items ${number.format(first)} to ${number.format(last)}`} of ${number.format(total)}: ${counts}`,
    count: (count: number, state: string) => `${number.format(count)} ${state.toLowerCase()}`,
    cut: 'There is more than fits here: zoom in to see the rest.',
    perSecond: (rate: number) =>
      `${new Intl.NumberFormat('en', { maximumSignificantDigits: 3 }).format(rate)} per second`,
    timeLeft: (seconds: number) => `about ${formatDuration(seconds * 1_000)} left`,
  },
  flow: {
    title: 'Flow',
    label: 'What became of the items of each stage',
    became: (from: string, count: number, to: string, made: number) =>
      `${number.format(count)} succeeded in ${from} became ${things(made, 'item', 'items')} of ${to}`,
    ended: (from: string, failed: number, cancelled: number, left: number) =>
      `${from}: ${number.format(failed)} failed, ${number.format(cancelled)} cancelled, ${number.format(left)} to go`,
  },
  item: {
    title: 'Item',
    payload: 'Payload',
    result: 'Result',
    attempts: 'Failed attempts',
    attempt: 'Attempt',
    stack: 'Stack',
    held: (worker: string, attempt: number) => `${worker} is working on it, attempt ${attempt}.`,
    note: 'Note',
    log: 'Log',
    parent: 'Made from',
    children: 'Became',
    tree: 'Tree',
    created: 'Created',
    finished: 'Finished',
    runAt: 'Not before',
    retryAt: 'Next attempt',
    priority: 'Priority',
    dedupeKey: 'Dedupe key',
    serializeKey: 'Serialize key',
    failures: (count: number, most: number) =>
      `${things(count, 'failure', 'failures')}, of which ${number.format(most)} may be tried again`,
    change: 'Change',
    changePayload: 'Payload, as JSON',
    changePriority: 'Priority',
    promote: 'Run now',
    promoteAsk: 'Make this item ready now?',
    cancel: 'Cancel item',
    cancelAsk: 'Cancel this item? A worker that has it is told to stop.',
    replay: 'Replay',
    replayAsk: 'Replay this item?',
    gone: 'There is no such item, or its tree was deleted.',
    notJson: 'This is not valid JSON.',
  },
  standstill: {
    title: 'Why is it not running?',
    of: standstills,
    items: (count: number, hasMore: boolean) =>
      `${hasMore ? 'more than ' : ''}${things(count, 'item', 'items')}`,
    head: 'The item that has it',
    headIs: (status: string) => `(${status.toLowerCase()})`,
    example: 'One of them',
    raise: 'Limits',
    start: 'Copy command for a worker',
    resume: 'Resume type',
    resumeAsk: (type: string) => `Let workers take items of ${type} again?`,
    promote: 'Run them now',
    replayHead: 'Replay the head',
  },
  deadLetters: {
    title: 'Dead letters',
    intro: 'Items that failed for good, by type, code and message.',
    count: 'Items',
    pattern: 'Message',
    code: 'Code',
    type: 'Type',
    last: 'Last',
    first: 'First',
    example: 'Example',
    items: 'Items',
    note: 'Note',
    replayAll: 'Replay all',
    discard: 'Discard',
    discardAll: 'Discard all',
    replayAsk: (count: number) =>
      `Replay ${things(count, 'item', 'items')}? All that match, not only those on this page.`,
    skipped: (count: number) =>
      `${things(count, 'item is', 'items are')} left out: their jobs are cancelled or being deleted.`,
    discardAsk: (count: number) =>
      `Discard ${things(count, 'dead letter', 'dead letters')}? The items stay failed, and are no longer listed here.`,
    empty: 'No item has failed for good. ',
    gone: 'Nothing of this group is left.',
  },
  operation: {
    title: 'Operations',
    kind: { REPLAY: 'Replay', DISCARD: 'Discard', CANCEL: 'Cancellation', PROMOTE: 'Promotion' } as Readonly<
      Record<string, string>
    >,
    kindTitle: 'Operation',
    requested: 'Requested',
    finished: 'Finished',
    running: (kind: string, done: number, total: number) =>
      `${kind}: ${number.format(done)} of ${number.format(total)}`,
  },
  queues: {
    title: 'Queues',
    type: 'Type',
    ready: 'Ready',
    running: 'Running',
    scheduled: 'Scheduled',
    retrying: 'Retrying',
    blocked: 'Blocked',
    rate: 'Per second',
    wait: 'Wait p50 / p95',
    processing: 'Processing p50 / p95',
    limit: 'Limit',
    settings: 'Settings',
    pause: 'Pause',
    resume: 'Resume',
    paused: 'Paused',
    concurrency: 'Items at a time (empty: no limit)',
    empty: 'No type has items, settings or recent activity.',
    limits: (concurrency: number | null | undefined, rate: string | undefined) =>
      [concurrency == null ? undefined : `${concurrency} at a time`, rate]
        .filter((part) => part !== undefined)
        .join(', ') || 'none',
    ratePer: (limit: number, ms: number) => `${number.format(limit)} per ${formatDuration(ms)}`,
  },
  workers: {
    title: 'Workers',
    name: 'Worker',
    types: 'Types, with what it holds',
    version: 'Version',
    since: 'Connected since',
    held: 'Held items',
    slowOnly: 'Only slow ones',
    heldFor: 'Held for',
    heartbeat: 'Last heartbeat',
    item: 'Item',
    type: 'Type',
    empty: 'No worker is connected.',
    emptyHeld: 'No worker has an item.',
  },
  keys: {
    title: 'Serialize keys',
    key: 'Key',
    blocked: 'Waiting',
    head: 'Head',
    held: 'held until its dead letter is replayed or discarded',
    empty: 'No serialize key is in use.',
  },
  schedules: {
    title: 'Schedules',
    name: 'Schedule',
    times: 'Times',
    next: 'Next',
    last: 'Last tree',
    run: 'Run now',
    skip: 'Skip next',
    pause: 'Pause',
    resume: 'Resume',
    paused: 'paused',
    empty: 'There are no schedules.',
    every: (ms: number) => `every ${formatDuration(ms)}`,
    skipAsk: (name: string) => `Skip the next occurrence of ${name}?`,
    runAsk: (name: string) => `Create a tree of ${name} now?`,
  },
  callbacks: {
    title: 'Callback deliveries',
    endpoint: 'Endpoint',
    event: 'Event',
    status: 'Status',
    attempts: 'Attempts',
    created: 'Created',
    retry: 'Send again',
    retryAsk: (endpoint: string) => `Send this message to ${endpoint} again?`,
    empty: 'No callback was or is to be sent.',
    last: 'Last answer',
  },
  audit: {
    title: 'Audit',
    at: 'When',
    actor: 'Who',
    action: 'What',
    outcome: 'Outcome',
    subjects: 'Of what',
    address: 'From',
    empty: 'No privileged action was recorded.',
  },
  notFound: 'There is no such page.',
};

export type Texts = typeof en;
