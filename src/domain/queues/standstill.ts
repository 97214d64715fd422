/** What keeps something from running: the reasons, and what is told with each. */
import type { CancelReason, ItemStatus } from '../items/item-state.ts';
import type { JobStanding } from '../jobs/job-standings.ts';
import type { ItemKey } from '../values/ids.ts';

/** In the order in which they are told: first what lasts until somebody does something. */
export const standstillReasons = [
  'PAUSED',
  'NO_WORKER',
  'KEY_HELD',
  'RATE_LIMIT',
  'CONCURRENCY_LIMIT',
  'WORKERS_BUSY',
  'QUEUED',
  'BLOCKED',
  'RETRYING',
  'SCHEDULED',
  'IMPORTING',
  'NOT_SEALED',
  'WAITS_FOR_JOBS',
  'WAITS_FOR_PARENT',
  'FAILED',
  'CANCELLED',
  'COMPLETE',
] as const;
export type StandstillReason = (typeof standstillReasons)[number];

export interface Standstill {
  readonly reason: StandstillReason;
  readonly type: string;
  readonly itemCount: number;
  /** Whether there may be more items than were counted. */
  readonly hasMore: boolean;
  /** A job that it is true of, and one of its items; null for a type. */
  readonly jobId: string | null;
  readonly item: ItemKey | null;
  /** Of a serialize key: the key, and the item that has it, if the caller may see that. */
  readonly serializeKey: string | null;
  readonly head: (ItemKey & { readonly status: ItemStatus }) | null;
  /** The jobs that are waited for, as far as the caller may see them. */
  readonly waitsFor: readonly Pick<JobStanding, 'id' | 'type'>[];
  readonly until: Date | null;
  readonly since: Date | null;
  readonly limit: number | null;
  /** The code of the last failure. */
  readonly code: string | null;
  readonly cancelReason: CancelReason | null;
}

/** READY items have the obstacles of their type; every other state is a reason. */
export type State = StandstillReason | 'READY';

/** Items of a type that are in the same state. */
export interface Stand
  extends Pick<Standstill, 'type' | 'itemCount' | 'hasMore' | 'jobId' | 'item' | 'until' | 'since'> {
  readonly state: State;
  /** The job of the example. */
  readonly job: JobStanding | null;
}

/** What the caller may see beside the thing itself. */
export interface Sight {
  /** Whether it may see the settings and workers of types. */
  readonly seesTypes: boolean;
  readonly covered: (jobIds: readonly string[]) => Promise<ReadonlySet<string>>;
}
