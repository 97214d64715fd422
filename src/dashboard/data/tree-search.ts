/** What addresses say: which trees the first screen shows, and which entries the audit. */
import type { JobFilter, JobOrder, JobOutcome, JobStatus } from '../../generated/dashboard-first.ts';

export const statuses = ['WAITING', 'RUNNING', 'COMPLETED', 'CANCELLED'] as const satisfies JobStatus[];
export const outcomes = ['SUCCEEDED', 'PARTIAL', 'FAILED', 'CANCELLED'] as const satisfies JobOutcome[];
export const orders = [
  'NEWEST_FIRST',
  'OLDEST_FIRST',
  'MOST_FAILURES_FIRST',
  'LEAST_PROGRESS_FIRST',
  'MOST_PROGRESS_FIRST',
] as const satisfies JobOrder[];

export interface TreesSearch {
  readonly types?: string[] | undefined;
  readonly statuses?: JobStatus[] | undefined;
  readonly outcomes?: JobOutcome[] | undefined;
  readonly from?: string | undefined;
  readonly until?: string | undefined;
  readonly completedFrom?: string | undefined;
  readonly completedUntil?: string | undefined;
  readonly key?: string | undefined;
  readonly failures?: boolean | undefined;
  readonly schedule?: string | undefined;
  readonly order?: JobOrder | undefined;
}

type Given = Readonly<Record<string, unknown>>;

/** A number, too: it may be in an address that was written by hand. */
export const text = (value: unknown) => (value === undefined || value === '' ? undefined : String(value));
const time = (value: unknown) =>
  typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? new Date(value).toISOString() : undefined;

/** One, or several; null if none is left. */
function list<T extends string>(value: unknown, among?: readonly T[]): T[] | undefined {
  const all = (Array.isArray(value) ? value : [value]).map(text) as T[];
  const found = [...new Set(all)].filter((one) => one !== undefined && (among?.includes(one) ?? true));
  return found.length === 0 ? undefined : found;
}

export const toTreesSearch = (given: Given): TreesSearch => ({
  types: list(given.types),
  statuses: list(given.statuses, statuses),
  outcomes: list(given.outcomes, outcomes),
  from: time(given.from),
  until: time(given.until),
  completedFrom: time(given.completedFrom),
  completedUntil: time(given.completedUntil),
  key: text(given.key),
  failures: typeof given.failures === 'boolean' ? given.failures : undefined,
  schedule: text(given.schedule),
  order: list(given.order, orders)?.[0],
});

export interface AuditSearch {
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

export const toAuditSearch = ({ actor, action, since, until }: Given): AuditSearch => ({
  actor: text(actor),
  action: text(action),
  since: time(since),
  until: time(until),
});

export const toFilter = (search: TreesSearch): JobFilter => ({
  types: search.types ?? null,
  statuses: search.statuses ?? null,
  outcomes: search.outcomes ?? null,
  createdFrom: search.from ?? null,
  createdUntil: search.until ?? null,
  completedFrom: search.completedFrom ?? null,
  completedUntil: search.completedUntil ?? null,
  dedupeKeyPrefix: search.key ?? null,
  hasFailures: search.failures ?? null,
  schedule: search.schedule ?? null,
  wholeTrees: true,
});
