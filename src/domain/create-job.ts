/** Creates a whole tree of jobs. Everything is checked before anything is written; the error names the first problem by its path. */
import { InvalidInputError } from '../errors.ts';
import { checkInstant, checkInteger, checkName, checkText, toJsonText } from './checks.ts';
import { checkRoom, type Engine } from './engine.ts';
import { checkFile, type NewFile } from './file-imports.ts';
import { type NewItem, prepareItem, toItemText } from './items.ts';
import {
  heartbeatIntervalMsRange,
  type Limits,
  maxAfter,
  maxBackoffMs,
  maxBackoffSteps,
  maxBatch,
  maxCallbacks,
  maxDedupeKeyLength,
  maxFailuresLimit,
  maxFeedBytes,
  maxNameLength,
  maxToleratedFailures,
  maxTreeDepth,
  maxTreeJobs,
  priorityRange,
} from './limits.ts';
import { checkRetention, type RetentionChange } from './retention.ts';
import { checkTraceContext, type TraceContext } from './trace-context.ts';
import { type Checked, toChecked } from './type-schemas.ts';

export interface Feed {
  readonly source?: 'SUCCESSES' | 'REPORTS' | null | undefined;
  /** The path to a list; each of its elements makes an item. */
  readonly forEach?: string | null | undefined;
  /** A path, or an object whose values are paths. */
  readonly payload?: NonNullable<unknown> | null | undefined;
  /** The path to the serialize key of the new item. */
  readonly serializeKey?: string | null | undefined;
}

export interface NewCallback {
  readonly endpoint: string;
  /** TREE by default. */
  readonly on?: 'TREE' | 'JOB' | null | undefined;
}

/** The root says for how long its tree is kept. */
export interface NewJob extends RetentionChange {
  readonly type: string;
  readonly dedupeKey?: string | null | undefined;
  readonly priority?: number | null | undefined;
  readonly runAt?: Date | null | undefined;
  readonly maxFailuresPerItem?: number | null | undefined;
  readonly backoffMs?: readonly number[] | null | undefined;
  readonly backoffJitter?: number | null | undefined;
  readonly heartbeatIntervalMs?: number | null | undefined;
  readonly finalStage?: boolean | null | undefined;
  /** With more failed items than this the job fails; any number by default. */
  readonly toleratedFailureCount?: number | null | undefined;
  /** With more than this share of its items failed, of 100, the job fails; counts once it is sealed. Any share by default. */
  readonly toleratedFailurePercentage?: number | null | undefined;
  /** What happens to the serialize key of an item that failed for good: by default, its next item runs. */
  readonly serializeOnFailure?: 'CONTINUE' | 'BLOCK' | null | undefined;
  /** What other jobs of the tree call it in `after`; its type by default. */
  readonly name?: string | null | undefined;
  /** The names of the jobs that it waits for. */
  readonly after?: readonly string[] | null | undefined;
  readonly sealed?: boolean | null | undefined;
  readonly feed?: Feed | null | undefined;
  readonly items?: readonly NewItem[] | null | undefined;
  /** An upload that becomes its items, behind those given here; its end seals the job. */
  readonly file?: NewFile | null | undefined;
  /** Of the root: what is called when the tree is complete, or each of its jobs. */
  readonly callbacks?: readonly NewCallback[] | null | undefined;
  /** Of the root: the trace that the items belong to which the tree starts with. */
  readonly traceContext?: TraceContext | null | undefined;
  readonly children?: readonly NewJob[] | null | undefined;
}

/** Larger trees wait for their turn. */
const mostOfSmall = { jobs: 50, length: 500_000 };

export async function createJob(engine: Engine, job: NewJob): Promise<{ jobId: string; created: boolean }> {
  const ready = new Map<string, number>();
  const payloads: Checked[] = [];
  const walk: Walk = { limits: engine.limits, depth: 0, jobs: 0, files: 0, ready, payloads };
  const text = toJobText(job, '', walk);
  if (payloads.length > 0 && (await engine.schemas.any('payload')))
    await engine.schemas.require('payload', payloads);
  // Only the import learns how much a file holds.
  const size = { items: payloads.length + walk.files, bytes: walk.files };
  for (const { length } of payloads) size.bytes += length;
  const room = checkRoom(engine, size);
  if (room !== undefined) await room;
  const create = () => engine.database.call<{ job_id: string; created: boolean }>('create_job', text);
  const isSmall = walk.jobs <= mostOfSmall.jobs && text.length <= mostOfSmall.length;
  const [row] = await (isSmall ? create() : engine.largeTrees.run(engine, create));
  if (row === undefined) throw new Error('create_job returned no row');
  if (row.created) {
    engine.effects.touched(row.job_id);
    if (ready.size > 0) engine.effects.ready(ready);
    if (walk.files > 0) engine.effects.importable();
  }
  return { jobId: row.job_id, created: row.created };
}

/** The JSON text that create_job takes. `path`: where the tree stands in the input. Adds to `payloads` what has to meet schemas. */
export function toTreeText(job: NewJob, limits: Limits, path: string, payloads: Checked[]): string {
  const walk: Walk = { limits, depth: 0, jobs: 0, files: 0, ready: new Map(), payloads };
  const text = toJobText(job, path, walk);
  if (walk.files > 0) {
    throw new InvalidInputError(
      `${path}file can't be set: the upload would be gone by the second occurrence.`,
      `${path}file`,
    );
  }
  return text;
}

interface Walk {
  readonly limits: Limits;
  readonly depth: number;
  /** How many new items there are, by type. */
  readonly ready: Map<string, number>;
  /** The payloads of all items. */
  readonly payloads: Checked[];
  jobs: number;
  files: number;
}

function toJobText(job: NewJob, path: string, walk: Walk): string {
  if (walk.depth > maxTreeDepth) {
    throw new InvalidInputError(
      `${path}children is more than ${maxTreeDepth} levels below the root.`,
      `${path}children`,
    );
  }
  if (++walk.jobs > maxTreeJobs) {
    throw new InvalidInputError(`The tree has more than ${maxTreeJobs} jobs.`, 'children');
  }
  if (walk.depth === 0 && job.feed != null)
    throw new InvalidInputError('The root has no parent to feed it.', `${path}feed`);
  if (job.feed != null && job.sealed) {
    throw new InvalidInputError(
      `${path}sealed can't be set: the job is fed by its parent, whose completion seals it.`,
      `${path}sealed`,
    );
  }
  if (job.file != null && (job.feed != null || job.sealed)) {
    throw new InvalidInputError(
      `${path}file can't be set: the job would be sealed by its parent, or is sealed already.`,
      `${path}file`,
    );
  }
  if (walk.depth > 0 && job.callbacks != null)
    throw new InvalidInputError('Callbacks belong to the root.', `${path}callbacks`);
  if (walk.depth > 0 && job.traceContext != null)
    throw new InvalidInputError('The trace context belongs to the root.', `${path}traceContext`);
  for (const field of ['retentionSeconds', 'idleExpirySeconds'] as const) {
    if (walk.depth > 0 && job[field] !== undefined)
      throw new InvalidInputError('A tree is kept as a whole: this belongs to the root.', `${path}${field}`);
  }
  const items = job.items ?? [];
  if (items.length > maxBatch) {
    throw new InvalidInputError(
      `${path}items has ${items.length} entries; the limit is ${maxBatch}. Add the others with addItems.`,
      `${path}items`,
    );
  }
  const head = JSON.stringify({
    type: checkName(job.type, `${path}type`, maxNameLength),
    dedupeKey: given(job.dedupeKey, (key) => checkText(key, `${path}dedupeKey`, maxDedupeKeyLength)),
    priority: given(job.priority, (value) => checkInteger(value, `${path}priority`, ...priorityRange)),
    runAt: given(job.runAt, (value) => checkInstant(value, `${path}runAt`)),
    maxFailuresPerItem: given(job.maxFailuresPerItem, (value) =>
      checkInteger(value, `${path}maxFailuresPerItem`, 0, maxFailuresLimit),
    ),
    backoffMs: given(job.backoffMs, (steps) => checkBackoff(steps, `${path}backoffMs`)),
    backoffJitter: given(job.backoffJitter, (value) => checkShare(value, `${path}backoffJitter`)),
    heartbeatIntervalMs: given(job.heartbeatIntervalMs, (value) =>
      checkInteger(value, `${path}heartbeatIntervalMs`, ...heartbeatIntervalMsRange),
    ),
    finalStage: job.finalStage ?? undefined,
    toleratedFailureCount: given(job.toleratedFailureCount, (value) =>
      checkInteger(value, `${path}toleratedFailureCount`, 0, maxToleratedFailures),
    ),
    toleratedFailurePercentage: given(job.toleratedFailurePercentage, (value) =>
      checkNumber(value, `${path}toleratedFailurePercentage`, 0, 100),
    ),
    serializeOnFailure: job.serializeOnFailure ?? undefined,
    name: given(job.name, (name) => checkName(name, `${path}name`, maxNameLength)),
    after: given(job.after, (names) => checkAfter(names, `${path}after`)),
    sealed: job.sealed ?? undefined,
    feed: given(job.feed, (feed) => checkFeed(feed, `${path}feed`)),
    file: given(job.file, (file) => checkFile(file, `${path}file`)),
    callbacks: given(job.callbacks, (callbacks) => checkCallbacks(callbacks, `${path}callbacks`)),
    traceContext: given(job.traceContext, (trace) => checkTraceContext(trace, `${path}traceContext`)),
    ...checkRetention(job, path),
  });
  if (job.file != null) walk.files++;
  // Items of a job that waits for others are not ready yet.
  if (items.length > 0 && !job.after?.length)
    walk.ready.set(job.type, (walk.ready.get(job.type) ?? 0) + mostReady(items));
  const itemTexts = items.map((item, i) => {
    const field = `${path}items[${i}]`;
    const prepared = prepareItem(item, field, walk.limits);
    walk.payloads.push(toChecked(job.type, field, item.payload, prepared));
    return toItemText(prepared);
  });
  const below = { ...walk, depth: walk.depth + 1 };
  const childTexts = (job.children ?? []).map((child, i) =>
    toJobText(child, `${path}children[${i}].`, below),
  );
  walk.jobs = below.jobs;
  walk.files = below.files;
  return `${head.slice(0, -1)},"items":[${itemTexts.join(',')}],"children":[${childTexts.join(',')}]}`;
}

function given<T, R>(value: T | null | undefined, check: (value: T) => R): R | undefined {
  return value == null ? undefined : check(value);
}

export function checkBackoff(steps: readonly number[], field: string): readonly number[] {
  if (steps.length > maxBackoffSteps) {
    throw new InvalidInputError(
      `${field} has ${steps.length} steps; the limit is ${maxBackoffSteps}.`,
      field,
    );
  }
  return steps.map((step, i) => checkInteger(step, `${field}[${i}]`, 0, maxBackoffMs));
}

export function checkShare(value: number, field: string): number {
  // Rounded as Postgres stores it: values below its range become 0.
  return Math.fround(checkNumber(value, field, 0, 1));
}

function checkNumber(value: number, field: string, lowest: number, highest: number): number {
  if (!(value >= lowest && value <= highest)) {
    throw new InvalidInputError(`${field} is ${value}; it must be from ${lowest} to ${highest}.`, field);
  }
  return value;
}

/** Whether these jobs exist, and form no cycle, is checked by link_jobs. */
function checkAfter(names: readonly string[], field: string): readonly string[] {
  if (names.length > maxAfter) {
    throw new InvalidInputError(`${field} has ${names.length} names; the limit is ${maxAfter}.`, field);
  }
  return names.map((name, i) => checkName(name, `${field}[${i}]`, maxNameLength));
}

/** Whether these endpoints exist is checked by add_callbacks. */
function checkCallbacks(callbacks: readonly NewCallback[], field: string): readonly NewCallback[] {
  if (callbacks.length > maxCallbacks) {
    throw new InvalidInputError(
      `${field} has ${callbacks.length} entries; the limit is ${maxCallbacks}.`,
      field,
    );
  }
  return callbacks.map(({ endpoint, on }, i) => ({
    endpoint: checkName(endpoint, `${field}[${i}].endpoint`, maxNameLength),
    on: on ?? undefined,
  }));
}

const path = /^(payload|result|element)(\.[^.]+)*$/;

function checkFeed(feed: Feed, field: string): Record<string, unknown> {
  const source = feed.source ?? 'SUCCESSES';
  if (source === 'REPORTS' && (feed.forEach ?? feed.payload ?? feed.serializeKey) != null) {
    throw new InvalidInputError(`${field} takes its items from reports, so it has no mapping.`, field);
  }
  if (feed.forEach != null) checkPath(feed.forEach, `${field}.forEach`, false);
  const isTemplate =
    typeof feed.payload === 'object' && feed.payload !== null && !Array.isArray(feed.payload);
  if (feed.payload != null) {
    const paths = isTemplate ? Object.entries(feed.payload as object) : [['', feed.payload] as const];
    for (const [key, value] of paths) {
      checkPath(value, key === '' ? `${field}.payload` : `${field}.payload.${key}`, feed.forEach != null);
    }
  }
  if (feed.serializeKey != null) checkPath(feed.serializeKey, `${field}.serializeKey`, feed.forEach != null);
  const checked = {
    source,
    forEach: feed.forEach ?? undefined,
    payload: feed.payload ?? undefined,
    serializeKey: feed.serializeKey ?? undefined,
  };
  toJsonText(checked, field, maxFeedBytes);
  return checked;
}

function checkPath(value: unknown, field: string, hasElement: boolean): void {
  if (typeof value !== 'string' || !path.test(value) || (value.startsWith('element') && !hasElement)) {
    const roots = hasElement ? 'payload, result or element' : 'payload or result';
    throw new InvalidInputError(
      `${field} must be a path: ${roots}, then keys or positions behind dots.`,
      field,
    );
  }
}

/** How many items can be ready at once: at most the first of each serialize key. */
function mostReady(items: readonly NewItem[]): number {
  const keys = items.flatMap(({ serializeKey }) => serializeKey ?? []);
  return items.length - keys.length + new Set(keys).size;
}
