/** What children are told. */
export interface ProducerTask {
  /** The endpoint of the server, or the database. */
  readonly url: string;
  /** The job, or the task identifier. */
  readonly target: string;
  readonly items: number;
  readonly batch: number;
  /** Calls in flight. */
  readonly width: number;
}

export interface WorkerTask {
  readonly url: string;
  /** The type, or the task identifier. */
  readonly target: string;
  /** What it shows the server. */
  readonly token?: string;
  /** After how many it is done; without it, it works until it is killed, and tells how far it is. */
  readonly items?: number;
  readonly batch: number;
  /** Handlers at a time, if not as many as its contender needs for the batch. */
  readonly concurrency?: number;
  /** Whether jobtree's worker claims items before a handler is free for them, if not as it does by default. */
  readonly claimAhead?: boolean;
  /** Types of later stages, which it works on as well. */
  readonly laterTargets?: readonly string[];
  /** How long a handler takes, if it does not return at once. */
  readonly handlerMs?: number;
  /** Every so many items one fails, the first time. */
  readonly failEvery?: number;
  /** How many it does in a second, if not as many as it can. */
  readonly perSecond?: number;
}

export interface SubscribersTask {
  readonly url: string;
  /** The number of the first: each has one of its own, which decides what it watches. */
  readonly first: number;
}

/** What subscribers watch: the first of them the first job, and so on, in turn. */
export interface Watching {
  readonly jobIds: readonly string[];
  readonly intervalMs: number;
  /** The progress of all jobs of the tree of each. */
  readonly wholeTree?: boolean;
  /** Each operation has a name of its own, so that they can't share an execution. */
  readonly apart?: boolean;
}

/** For who reads what a bare socket writes. */
export interface ReaderTask {
  readonly port: number;
  readonly connections: number;
}

/** For who uses another table of a database that is at work. */
export interface BystanderTask {
  readonly databaseUrl: string;
}

/** For a worker that idles, and for what adds items for it. */
export interface WakeTask {
  readonly contender: 'jobtree' | 'graphile';
  readonly url: string;
  readonly job: string;
  readonly type: string;
}
