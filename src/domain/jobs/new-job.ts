/** What a producer says of a new job, with all jobs below it. */
import type { NewCallback } from '../callbacks/add-callbacks.ts';
import type { NewFile } from '../files/file-options.ts';
import type { NewItem } from '../items/new-items.ts';
import type { RetentionChange } from '../retention/retention.ts';
import type { TraceContext } from '../values/trace-context.ts';

export interface Feed {
  readonly source?: 'SUCCESSES' | 'REPORTS' | null | undefined;
  /** The path to a list; each of its elements makes an item. */
  readonly forEach?: string | null | undefined;
  /** A path, or an object whose values are paths. */
  readonly payload?: NonNullable<unknown> | null | undefined;
  /** The path to the serialize key of the new item. */
  readonly serializeKey?: string | null | undefined;
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
