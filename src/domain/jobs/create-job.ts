/** Creates a whole tree of jobs, or nothing of it: the first problem is named by its path. */
import { InvalidInputError, JobtreeError } from '../../errors.ts';
import type { Stored } from '../access/stored.ts';
import type { CreatedJob, PlainJob, PreparedItem } from '../engine/batchers.ts';
import { checkRoom, type Engine } from '../engine/engine.ts';
import { checkFile } from '../files/file-options.ts';
import { type NewItem, prepareItem, toItemText } from '../items/new-items.ts';
import { type Checked, toChecked } from '../types/type-schemas.ts';
import { checkInstant, toCheckedText, toJsonText } from '../values/checks.ts';
import { type Limits, maxBatch, maxFeedBytes, maxTreeDepth, maxTreeJobs } from '../values/limits.ts';
import type { Feed, NewJob } from './new-job.ts';
import { isPlain } from './plain-job.ts';

export type { CreatedJob, Feed, NewJob };

/** Larger trees wait for their turn. */
const mostOfSmall = { jobs: 50, length: 500_000 };

/** A tree that passed the checks of the server. */
export interface PreparedJob extends Omit<Walk, 'limits' | 'depth'> {
  /** As JSON, with its items. */
  readonly text: string;
  /** If it can be inserted with others. */
  readonly plain: PlainJob | undefined;
}

/** @throws InvalidInputError with the path behind `path` */
export function prepareJob(job: NewJob, path: string, limits: Limits): PreparedJob {
  const walk = newWalk(limits, []);
  const { text, head, items } = toJobTexts(job, path, walk);
  const arePlain = items.every(({ settings }) => settings === '') && isPlain(job);
  const payloads = items.map(({ payload }) => payload);
  const plain = arePlain ? { type: job.type, head, payloads } : undefined;
  return { ...walk, text, plain };
}

/** Only the import learns how much a file holds. */
export function sizeOfJob({ payloads, files }: PreparedJob): Stored {
  const size = { items: payloads.length + files, bytes: files };
  for (const { length } of payloads) size.bytes += length;
  return size;
}

export async function createJob(engine: Engine, job: NewJob): Promise<CreatedJob> {
  const prepared = prepareJob(job, '', engine.limits);
  const { payloads, plain, keys } = prepared;
  if (payloads.length > 0 && (await engine.schemas.any('payload')))
    await engine.schemas.require('payload', payloads);
  const room = checkRoom(engine, sizeOfJob(prepared));
  if (room !== undefined) await room;
  if (plain === undefined) return createAlone(engine, prepared);
  const batcher = engine.batchers.creations[keys.length > 0 ? 'keyed' : 'unkeyed'];
  const [created] = await batcher.submit([plain], engine, engine.isGone);
  if (created instanceof JobtreeError) throw created;
  return created ?? createAlone(engine, prepared);
}

/** In a statement of its own, which checks everything, and may wait for locks. */
export async function createAlone(engine: Engine, prepared: PreparedJob): Promise<CreatedJob> {
  const { text, jobs, ready, files } = prepared;
  const create = () => engine.database.call<{ job_id: string; created: boolean }>('create_job', text);
  const isSmall = jobs <= mostOfSmall.jobs && text.length <= mostOfSmall.length;
  const [row] = await (isSmall ? create() : engine.largeTrees.run(engine, create));
  if (row === undefined) throw new Error('create_job returned no row');
  if (row.created) {
    engine.effects.touched(row.job_id);
    if (ready.size > 0) engine.effects.ready(ready);
    if (files > 0) engine.effects.importable();
  }
  return { jobId: row.job_id, created: row.created };
}

/** The JSON text that create_job takes. `path`: where the tree stands in the input. Adds to `payloads` what has to meet schemas. */
export function toTreeText(job: NewJob, limits: Limits, path: string, payloads: Checked[]): string {
  const walk = newWalk(limits, payloads);
  const { text } = toJobTexts(job, path, walk);
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
  /** The dedupe keys of all jobs, each with its type. */
  readonly keys: string[];
  jobs: number;
  files: number;
}

const newWalk = (limits: Limits, payloads: Checked[]): Walk => ({
  limits,
  depth: 0,
  jobs: 0,
  files: 0,
  ready: new Map(),
  payloads,
  keys: [],
});

interface JobTexts {
  /** With items and children. */
  readonly text: string;
  /** Without them. */
  readonly head: string;
  readonly items: readonly PreparedItem[];
}

function toJobTexts(job: NewJob, path: string, walk: Walk): JobTexts {
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
  if (job.dedupeKey != null) walk.keys.push(JSON.stringify([job.type, job.dedupeKey]));
  // Items of a job that waits for others are not ready yet.
  if (items.length > 0 && !job.after?.length)
    walk.ready.set(job.type, (walk.ready.get(job.type) ?? 0) + mostReady(items));
  const prepared = items.map((item, i) => {
    const field = `${path}items[${i}]`;
    const one = prepareItem(item, field, walk.limits);
    walk.payloads.push(toChecked(job.type, field, item.payload, one));
    return one;
  });
  const below = { ...walk, depth: walk.depth + 1 };
  const childTexts = (children ?? []).map(
    (child, i) => toJobTexts(child, `${path}children[${i}].`, below).text,
  );
  walk.jobs = below.jobs;
  walk.files = below.files;
  const itemTexts = prepared.map(toItemText).join(',');
  const text = `${head.slice(0, -1)},"items":[${itemTexts}],"children":[${childTexts.join(',')}]}`;
  return { text, head, items: prepared };
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
