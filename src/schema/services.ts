import type { Engine } from '../domain/engine.ts';
import type { FoldScheduler } from '../events/fold-scheduler.ts';
import type { Hub } from '../events/hub.ts';
import type { WorkHints } from '../events/work-hints.ts';

/** The running parts of the server, the same for every request. */
export interface Services {
  readonly engine: Engine;
  readonly folds: FoldScheduler;
  readonly hub: Hub;
  readonly hints: WorkHints;
  /** What a query or mutation may cost: the values that its answer can have, pages taken as full. */
  readonly maxQueryCost: number;
  /** Of an operation: whether its cost was counted before, and is within that. */
  readonly isAffordable?: boolean;
  /** What an answer may have, in bytes of payloads, results and failures. */
  readonly maxAnswerBytes: number;
  /** The answer will have so many bytes of payloads and the like. Throws if that is too much beside what others get now. */
  readonly announce?: (bytes: number) => void;
}
