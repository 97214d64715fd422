/** Creates a whole tree of jobs, or nothing of it: the first problem is named by its path. */
import { InvalidInputError } from '../../errors.ts';
import { checkRoom, type Engine } from '../engine/engine.ts';
import { type NewItem, prepareItem, toItemText } from '../items/new-items.ts';
import { type Checked, toChecked } from '../types/type-schemas.ts';
import { checkFile, type NewFile } from '../uploads/file-options.ts';
import { checkInstant, toCheckedText, toJsonText } from '../values/checks.ts';
import { type Limits, maxBatch, maxFeedBytes, maxTreeDepth, maxTreeJobs } from '../values/limits.ts';
import type { TraceContext } from '../values/trace-context.ts';
import type { RetentionChange } from './retention.ts';

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
  const { items: given, children, file, feed, runAt, ...policies } = job;
  const items = given ?? [];
  if (items.length > maxBatch) {
    const rest = feed
      ? 'The others can only come from its parent, since that feeds it.'
      : 'Do not seal the job yet, add the others with addItems, and seal it then.';
    throw new InvalidInputError(
      `${path}items has ${items.length} entries; the limit is ${maxBatch}. ${rest}`,
      `${path}items`,
    );
  }
  const head = toCheckedText(
    {
      ...policies,
      runAt: runAt && checkInstant(runAt, `${path}runAt`),
      feed: feed && checkFeed(feed, `${path}feed`),
      file: file && checkFile(file, `${path}file`),
    },
    path,
  );
  if (file != null) walk.files++;
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
  const childTexts = (children ?? []).map((child, i) => toJobText(child, `${path}children[${i}].`, below));
  walk.jobs = below.jobs;
  walk.files = below.files;
  return `${head.slice(0, -1)},"items":[${itemTexts.join(',')}],"children":[${childTexts.join(',')}]}`;
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
