/**
 * Whether a job is plain: a root without children that starts with items without settings of their own, and has nothing that another
 * transaction may hold but a dedupe key. Plain jobs of many callers are inserted together, and unchecked, so their values must also be beyond
 * doubt here; what is in doubt `create_job` checks, and refuses in its words. A test compares the two.
 */
import { maxDedupeKeyLength, maxNameLength, priorityRange } from '../values/limits.ts';
import { withoutTenant } from '../values/tenants.ts';
import type { NewJob } from './new-job.ts';

const text = (most: number) => (value: unknown) =>
  typeof value === 'string' && value.length > 0 && value.length <= most;
const whole = (lowest: number, highest: number) => (value: unknown) =>
  Number.isInteger(value) && (value as number) >= lowest && (value as number) <= highest;
const number = (lowest: number, highest: number) => (value: unknown) =>
  typeof value === 'number' && value >= lowest && value <= highest;
const flag = (value: unknown) => typeof value === 'boolean';
const absent = () => false;

const maxInt = 2_147_483_647;
const mostSteps = 100;
const maxSeconds = 315_576_000;
const backoff = whole(0, maxInt);
const name = text(maxNameLength);

/** What each member may be; null counts as missing, except where it is for ever. */
const isFine: Readonly<Record<keyof NewJob, (value: unknown) => boolean>> = {
  type: (value) => typeof value === 'string' && name(withoutTenant(value)),
  dedupeKey: text(maxDedupeKeyLength),
  priority: whole(...priorityRange),
  maxFailuresPerItem: whole(0, 1_000),
  backoffMs: (value) => Array.isArray(value) && value.length <= mostSteps && value.every(backoff),
  backoffJitter: number(0, 1),
  heartbeatIntervalMs: whole(1_000, 86_400_000),
  finalStage: flag,
  toleratedFailureCount: whole(0, maxInt),
  toleratedFailurePercentage: number(0, 100),
  serializeOnFailure: (value) => value === 'CONTINUE' || value === 'BLOCK',
  sealed: flag,
  retentionSeconds: whole(0, maxSeconds),
  idleExpirySeconds: whole(1, maxSeconds),
  // Checked elsewhere.
  runAt: () => true,
  items: () => true,
  children: (value) => Array.isArray(value) && value.length === 0,
  name: absent,
  after: absent,
  feed: absent,
  file: absent,
  callbacks: absent,
  traceContext: absent,
};

export function isPlain(job: NewJob): boolean {
  if (job.type == null || !job.items?.length) return false;
  for (const member in job) {
    const value = job[member as keyof NewJob];
    if (value != null && isFine[member as keyof NewJob]?.(value) !== true) return false;
  }
  return true;
}
