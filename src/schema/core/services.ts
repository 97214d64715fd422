import type { Examiner } from '../../doctor/examiner.ts';
import type { Audit } from '../../domain/access/audit.ts';
import type { Caller } from '../../domain/access/rights.ts';
import type { Engine, ParkOptions } from '../../domain/engine/engine.ts';
import type { Route } from '../../domain/figures/servers.ts';
import type { Uploads } from '../../domain/files/uploads.ts';
import type { FoldScheduler } from '../../events/fold-scheduler.ts';
import type { Hub } from '../../events/hub.ts';
import type { WorkHints } from '../../events/work-hints.ts';

/** What callers may know of the server. */
export interface ServerState {
  readonly version: string;
  readonly signIn: readonly ('keys' | 'jwt' | 'proxy')[];
  readonly transport: Route;
  readonly maxRequestBytes: number;
  readonly maxJsonBytes: number;
  readonly maxUploadBytes: number;
}

/** The running parts of the server, the same for every request. */
export interface Parts {
  readonly engine: Engine;
  readonly folds: FoldScheduler;
  readonly hub: Hub;
  readonly hints: WorkHints;
  readonly audit: Audit;
  readonly uploads: Uploads;
  readonly examiner: Pick<Examiner, 'read'>;
  /** The highest cost of a query or mutation: the number of values that its answer can have, with all pages full. */
  readonly maxQueryCost: number;
  /** The largest answer, in bytes of payloads, results and failures. */
  readonly maxAnswerBytes: number;
  readonly server: ServerState;
  /** When a caller's right expires; null if it does not. */
  readonly endOf: (caller: Caller) => Date | null;
}

/** What an operation has access to: the parts of the server, and what belongs to the operation. */
export interface Services extends Parts {
  /** Who sent the operation. */
  readonly caller: Caller;
  /** The address of the client, as far as trusted proxies report it. */
  readonly peer: () => string;
  /** In how many turns of the event loop its long lists are completed. Default: 1. */
  readonly turns?: number;
  /** Set if it was let in, and had its turn of the event loop, before it was parsed: to be called when it is no longer under way. */
  readonly leave?: (isDone: boolean) => void;
  /** Lets the operation wait at the server, as long as its caller is there. */
  readonly park: ParkOptions['park'];
  /** Announces that the answer will have this many bytes of payloads and the like. Throws if that is too much while others get theirs. */
  readonly announce?: (bytes: number) => void;
}
