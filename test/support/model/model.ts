/**
 * What the service ought to be, in a few maps: each item is in one state, and each operation says what it does to it. It knows nothing
 * of ranges, leases' bits, deltas and places, which is what makes it worth comparing with.
 *
 *     WAITING     its job waits for others
 *     READY       claims find it
 *     SCHEDULED   it waits for an instant that lies far ahead
 *     DUE         that instant is over, and nobody has promoted it: only a claim by name finds it
 *     BLOCKED     another item has its serialize key (lines.ts)
 *     RUNNING     a worker has it, under the item's assignment
 *     SUCCEEDED, FAILED
 *     CANCELLED   by itself, and not with its job
 *
 * What is pending in a cancelled job counts as cancelled, whatever its state here.
 */

import type { ItemStatus } from '../../../src/domain/items/item-state.ts';
import type { Feed, NewJob } from '../../../src/domain/jobs/create-job.ts';
import { ModelLines } from './lines.ts';

export type State =
  | 'WAITING'
  | 'READY'
  | 'SCHEDULED'
  | 'DUE'
  | 'BLOCKED'
  | 'RUNNING'
  | 'SUCCEEDED'
  | 'FAILED'
  | 'CANCELLED';

export interface ModelItem {
  readonly job: ModelJob;
  readonly position: number;
  readonly serializeKey: string | undefined;
  priority: number;
  payload: unknown;
  attempt: number;
  /** The attempts that it had had when it was replayed. */
  forgiven: number;
  /** It failed for good, and was neither replayed nor discarded. */
  dead: boolean;
  state: State;
  /** What it becomes when its job waits no longer, or it is the head of its key. */
  released: State;
  /** The last assignment that had it. */
  assignment: ModelAssignment | undefined;
}

export interface ModelJob {
  readonly id: string;
  readonly type: string;
  readonly priority: number;
  readonly maxFailures: number;
  readonly backoffMs: readonly number[];
  readonly feed: Feed | undefined;
  readonly children: ModelJob[];
  readonly items: Map<number, ModelItem>;
  readonly keys: Map<string, number>;
  /** Its items are due later unless they say otherwise. */
  readonly later: boolean;
  readonly blocksOnFailure: boolean;
  /** How many of its items may fail, and which share of them. */
  readonly tolerated: { readonly count: number | null; readonly share: number | null };
  /** The jobs that it waits for. */
  readonly after: ModelJob[];
  waits: boolean;
  sealed: boolean;
  cancelled: boolean;
  deleted: boolean;
  /** Cancelled since more items failed than are tolerated. */
  failed: boolean;
  /** By a replay, once or more. */
  reopened: boolean;
}

export interface ModelTree {
  readonly root: ModelJob;
  readonly jobs: readonly ModelJob[];
  readonly key: string | undefined;
}

export interface ModelAssignment {
  readonly id: string;
  readonly leaseId: string;
  readonly item: ModelItem;
  readonly worker: string;
  /** Past its deadline, so that the next sweep takes it back. */
  overdue: boolean;
  /** What was reported under it. */
  report: ModelReport | undefined;
  end: 'REPORTED' | 'RELEASED' | 'LOST' | 'CANCELLED' | undefined;
}

interface NewModelItem {
  readonly type: string;
  readonly payload: unknown;
  readonly serializeKey?: string;
}

/** What a report makes for a child. */
export interface Fed {
  readonly payload: unknown;
  readonly key: string | null;
}

export interface ModelReport {
  readonly assignmentId: string;
  readonly result?: unknown;
  readonly failure?: { readonly code: string; readonly message: string; readonly permanent: boolean };
  readonly newItems?: readonly NewModelItem[];
}

export interface ModelClaim {
  readonly id: string;
  readonly worker: string;
  readonly requests: readonly { readonly type: string; readonly limit: number }[];
  readonly assignments: ModelAssignment[];
}

/** The settings of a type. */
export interface ModelQueue {
  readonly paused: boolean;
  readonly concurrency: number | null;
  /** In an interval that does not end. */
  readonly rate: number | null;
  /** Since it has a rate. */
  claimed: number;
}

export class Model {
  readonly queues = new Map<string, ModelQueue>();
  readonly trees = new Map<string, ModelTree>();
  readonly jobs = new Map<string, ModelJob>();
  readonly assignments = new Map<string, ModelAssignment>();
  readonly claims: ModelClaim[] = [];
  readonly lines = new ModelLines();
  /** Jobs that a fold has completed. */
  readonly completed = new Set<string>();
  /** Assignments that ended, the last ones. */
  ended: string[] = [];

  items(): ModelItem[] {
    return [...this.jobs.values()].flatMap((job) => [...job.items.values()]);
  }

  ready(type: string): ModelItem[] {
    const jobs = [...this.jobs.values()].filter((job) => job.type === type && !job.cancelled);
    return jobs.flatMap((job) => [...job.items.values()].filter(({ state }) => state === 'READY'));
  }

  /** How many more items of the type may be claimed. */
  room(type: string): number {
    const queue = this.queues.get(type);
    if (queue === undefined) return Number.POSITIVE_INFINITY;
    if (queue.paused) return 0;
    const isHeld = ({ item, end }: ModelAssignment) =>
      end === undefined && item.job.type === type && !item.job.cancelled;
    const held = [...this.assignments.values()].filter(isHeld).length;
    const places = (queue.concurrency ?? Number.POSITIVE_INFINITY) - held;
    return Math.max(0, Math.min(places, (queue.rate ?? Number.POSITIVE_INFINITY) - queue.claimed));
  }

  setQueue(type: string, settings: Omit<ModelQueue, 'claimed'>): void {
    const old = this.queues.get(type);
    this.queues.set(type, { ...settings, claimed: old?.rate == null ? 0 : old.claimed });
  }

  /** Assignments that hold their item, by lease. */
  leases(): ModelAssignment[][] {
    const leases = new Map<string, ModelAssignment[]>();
    for (const assignment of this.assignments.values()) {
      if (!isOpen(assignment)) continue;
      const lease = leases.get(assignment.leaseId) ?? [];
      leases.set(assignment.leaseId, lease);
      lease.push(assignment);
    }
    return [...leases.values()];
  }

  /** The ids go up in the order of the document. */
  addTree(spec: NewJob, ids: readonly { id: string; parent_id: string | null }[]): ModelTree {
    const waiting: [ModelJob, readonly string[]][] = [];
    const create = (job: NewJob, id: string): ModelJob => {
      const made: ModelJob = {
        id,
        type: job.type,
        priority: job.priority ?? 0,
        maxFailures: job.maxFailuresPerItem ?? 3,
        backoffMs: job.backoffMs ?? [],
        feed: job.feed ?? undefined,
        children: [],
        items: new Map(),
        keys: new Map(),
        later: job.runAt != null,
        blocksOnFailure: job.serializeOnFailure === 'BLOCK',
        tolerated: {
          count: job.toleratedFailureCount ?? null,
          share: job.toleratedFailurePercentage ?? null,
        },
        after: [],
        waits: (job.after ?? []).length > 0,
        sealed: job.sealed ?? false,
        cancelled: false,
        deleted: false,
        failed: false,
        reopened: false,
      };
      waiting.push([made, job.after ?? []]);
      this.jobs.set(id, made);
      const below = ids.filter(({ parent_id }) => parent_id === id);
      for (const [i, child] of (job.children ?? []).entries())
        made.children.push(create(child, below[i]?.id ?? ''));
      return made;
    };
    const root = create(spec, ids.find(({ parent_id }) => parent_id === null)?.id ?? '');
    for (const [job, names] of waiting)
      job.after.push(...subtree(root).filter(({ type }) => names.includes(type)));
    const tree = { root, jobs: subtree(root), key: spec.dedupeKey ?? undefined };
    this.trees.set(root.id, tree);
    return tree;
  }

  removeTree({ root, jobs }: ModelTree): void {
    this.trees.delete(root.id);
    for (const job of jobs) {
      job.deleted = true;
      this.jobs.delete(job.id);
    }
    for (const [id, { item }] of this.assignments) if (jobs.includes(item.job)) this.assignments.delete(id);
    for (const { assignments } of this.claims) {
      assignments.splice(0, assignments.length, ...assignments.filter(({ id }) => this.assignments.has(id)));
    }
  }

  addItem(
    job: ModelJob,
    item: {
      position: number;
      priority?: number;
      payload: unknown;
      serializeKey: string | null | undefined;
      state?: State;
    },
  ): void {
    const { position, payload, priority = job.priority, state: released = initial(job) } = item;
    const fresh = { attempt: 1, forgiven: 0, dead: false, assignment: undefined };
    const added: ModelItem = {
      job,
      position,
      priority,
      payload,
      serializeKey: item.serializeKey ?? undefined,
      state: 'WAITING',
      released,
      ...fresh,
    };
    job.items.set(position, added);
    if (!job.waits) this.lines.enter(added);
  }

  hold(item: ModelItem, assignment: { id: string; leaseId: string; worker: string }): ModelAssignment {
    const held = { ...assignment, item, overdue: false, report: undefined, end: undefined };
    item.state = 'RUNNING';
    item.assignment = held;
    const queue = this.queues.get(item.job.type);
    if (queue?.rate != null) queue.claimed++;
    this.assignments.set(held.id, held);
    return held;
  }

  /** What a report is answered, and what it does; gives the items that it makes for each child. */
  report(report: ModelReport): { status: string; fed: Map<ModelJob, Fed[]> } {
    const fed = new Map<ModelJob, Fed[]>();
    const assignment = this.assignments.get(report.assignmentId);
    if (assignment === undefined) return { status: 'STALE', fed };
    if (!isOpen(assignment) || assignment.item.job.cancelled) {
      return { status: isSame(assignment.report, report) ? 'DUPLICATE' : 'STALE', fed };
    }
    const { item } = assignment;
    if (report.failure !== undefined) {
      this.fail(assignment, report.failure.permanent, 'REPORTED', report);
      return { status: 'ACCEPTED', fed };
    }
    const children = item.job.children.filter(({ feed }) => feed !== undefined);
    const takers = (type: string) => children.filter((child) => child.type === type).length;
    if (report.newItems?.some(({ type }) => takers(type) !== 1)) return { status: 'INVALID', fed };
    for (const child of children.filter(({ cancelled }) => !cancelled)) {
      const items = fedItems(child, item.payload, report.result);
      if (items === undefined) return { status: 'INVALID', fed: new Map() };
      for (const { type, payload, serializeKey: key = null } of report.newItems ?? [])
        if (type === child.type) items.push({ payload, key });
      if (items.length > 0) fed.set(child, items);
    }
    this.#end(assignment, 'REPORTED', report);
    item.state = 'SUCCEEDED';
    return { status: 'ACCEPTED', fed };
  }

  fail(
    assignment: ModelAssignment,
    permanent: boolean,
    end: 'REPORTED' | 'LOST',
    report?: ModelReport,
  ): void {
    const { item } = assignment;
    const { backoffMs, maxFailures } = item.job;
    this.#end(assignment, end, report);
    const tries = item.attempt - item.forgiven;
    // What is lost in its last attempt is tried up to three times more, alone.
    const suspected = end === 'LOST' && maxFailures > 0 ? 3 : 0;
    if (permanent || tries > maxFailures + suspected) {
      item.state = 'FAILED';
      item.dead = true;
      return;
    }
    const wait = backoffMs[Math.min(tries, backoffMs.length) - 1] ?? 0;
    item.state = wait > 0 ? 'SCHEDULED' : 'READY';
    item.attempt++;
  }

  release(id: string): 'RELEASED' | 'STALE' {
    const assignment = this.assignments.get(id);
    if (assignment === undefined || !isOpen(assignment) || assignment.item.job.cancelled) return 'STALE';
    this.#end(assignment, 'RELEASED');
    assignment.item.state = 'READY';
    return 'RELEASED';
  }

  heartbeat(id: string): 'HELD' | 'FINISHED' | 'LOST' | 'CANCELLED' {
    const assignment = this.assignments.get(id);
    if (assignment === undefined || assignment.end === 'LOST') return 'LOST';
    if (assignment.end === 'REPORTED') return 'FINISHED';
    if (assignment.item.job.cancelled || assignment.item.state === 'CANCELLED') return 'CANCELLED';
    if (assignment.end === 'RELEASED') return 'LOST';
    assignment.overdue = false;
    return 'HELD';
  }

  /** Cancels an item by itself. */
  cancel(item: ModelItem): void {
    if (item.state === 'RUNNING' && item.assignment !== undefined) this.#end(item.assignment, 'CANCELLED');
    item.state = 'CANCELLED';
  }

  /** Tries an item again that failed for good: its job is open again, and what that feeds. */
  replay(item: ModelItem): void {
    const keepsKey = item.dead && item.job.blocksOnFailure;
    Object.assign(item, {
      released: 'READY',
      dead: false,
      forgiven: item.attempt,
      attempt: item.attempt + 1,
    });
    if (keepsKey) item.state = 'READY';
    else this.lines.enter(item);
    this.#reopen(item.job);
  }

  #reopen(job: ModelJob): void {
    job.reopened = true;
    this.completed.delete(job.id);
    for (const child of job.children) {
      if (child.feed === undefined || !child.sealed || child.cancelled) continue;
      child.sealed = false;
      this.#reopen(child);
    }
  }

  sweep(): number {
    const lost = this.leases()
      .flat()
      .filter(({ overdue, item }) => overdue && !item.job.cancelled);
    for (const assignment of lost) this.fail(assignment, false, 'LOST');
    return lost.length;
  }

  #end(assignment: ModelAssignment, end: NonNullable<ModelAssignment['end']>, report?: ModelReport): void {
    assignment.end = end;
    assignment.report = report;
    this.ended = [...this.ended.slice(-99), assignment.id];
  }
}

export const initial = ({ later }: ModelJob): State => (later ? 'SCHEDULED' : 'READY');

/** Whether more items failed than are tolerated; a share counts once no more items come. */
export function isOverLimit({ items, tolerated: { count, share } }: ModelJob, sealed: boolean): boolean {
  const failed = [...items.values()].filter(({ state }) => state === 'FAILED').length;
  return (
    (count !== null && failed > count) || (share !== null && sealed && 100 * failed > share * items.size)
  );
}

/** The outcome of a complete job. */
export function outcomeOf({ items, failed, cancelled }: ModelJob): string {
  if (failed) return 'FAILED';
  if (cancelled) return 'CANCELLED';
  const states = new Set([...items.values()].map(({ state }) => state));
  if (!states.has('FAILED')) return 'SUCCEEDED';
  return states.has('SUCCEEDED') ? 'PARTIAL' : 'FAILED';
}

export const isOpen = ({ end }: ModelAssignment) => end === undefined;

export const isFinished = ({ state }: ModelItem) =>
  state === 'SUCCEEDED' || state === 'FAILED' || state === 'CANCELLED';

export function subtree(job: ModelJob): ModelJob[] {
  return [job, ...job.children.flatMap(subtree)];
}

/** As the view item_status says it. */
export function statusOf(item: ModelItem): ItemStatus {
  if (isFinished(item)) return item.state as ItemStatus;
  if (item.job.cancelled) return 'CANCELLED';
  if (item.state !== 'SCHEDULED' && item.state !== 'DUE') return item.state;
  return item.attempt > 1 ? 'RETRYING' : 'SCHEDULED';
}

function isSame(known: ModelReport | undefined, { failure, result }: ModelReport): boolean {
  if (known === undefined) return false;
  if (known.failure !== undefined || failure !== undefined) return known.failure?.code === failure?.code;
  return JSON.stringify(known.result) === JSON.stringify(result);
}

/** What one success makes by the mapping of a child; undefined if it can't be mapped. */
function fedItems({ feed, cancelled }: ModelJob, payload: unknown, result: unknown): Fed[] | undefined {
  if (feed == null || feed.source === 'REPORTS') return [];
  const list = feed.forEach == null ? [undefined] : lookUp(feed.forEach, { payload, result });
  if (!Array.isArray(list)) return undefined;
  const isTemplate = typeof feed.payload === 'object' && feed.payload !== null;
  const items = list.map((element) => {
    const roots = { payload, result, element };
    const template = feed.payload ?? (feed.forEach == null ? 'result' : 'element');
    const made =
      typeof template === 'string'
        ? lookUp(template, roots)
        : Object.fromEntries(
            Object.entries(template).map(([key, path]) => [key, lookUp(String(path), roots)]),
          );
    return { payload: made, key: feed.serializeKey == null ? null : lookUp(feed.serializeKey, roots) };
  });
  const leadNowhere = ({ payload, key }: { payload: unknown; key: unknown }) =>
    [payload, key, ...(isTemplate ? Object.values(payload as object) : [])].includes(undefined);
  if (
    !cancelled &&
    items.some((item) => leadNowhere(item) || (typeof item.key === 'object' && item.key !== null))
  )
    return undefined;
  return items.map(({ payload, key }) => ({ payload, key: key === null ? null : String(key) }));
}

/** Undefined for a path that leads nowhere, unless it is optional. */
function lookUp(path: string, roots: Record<string, unknown>): unknown {
  let value: unknown = roots;
  for (const key of path.replace(/\?$/, '').split('.')) {
    value = typeof value === 'object' ? (value as Record<string, unknown> | null)?.[key] : undefined;
  }
  return value === undefined && path.endsWith('?') ? null : value;
}
