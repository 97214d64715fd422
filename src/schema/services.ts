import type { Audit } from '../domain/audit.ts';
import type { Engine } from '../domain/engine.ts';
import type { Caller } from '../domain/rights.ts';
import type { FoldScheduler } from '../events/fold-scheduler.ts';
import type { Hub } from '../events/hub.ts';
import type { WorkHints } from '../events/work-hints.ts';

/** The running parts of the server, the same for every request. */
export interface Parts {
  readonly engine: Engine;
  readonly folds: FoldScheduler;
  readonly hub: Hub;
  readonly hints: WorkHints;
  readonly audit: Audit;
  /** What a query or mutation may cost: the values that its answer can have, pages taken as full. */
  readonly maxQueryCost: number;
  /** What an answer may have, in bytes of payloads, results and failures. */
  readonly maxAnswerBytes: number;
}

/** What an operation has: the parts, and what is its own. */
export interface Services extends Parts {
  /** Whose it is. */
  readonly caller: Caller;
  /** The address that it comes from, as far as proxies that are trusted know it. */
  readonly peer: () => string;
  /** Of an operation: whether its cost was counted before, and is within that. */
  readonly isAffordable?: boolean;
  /** The answer will have so many bytes of payloads and the like. Throws if that is too much beside what others get now. */
  readonly announce?: (bytes: number) => void;
}
