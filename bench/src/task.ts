/** The tasks that children are given. */
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
  /** The token that it sends to the server. */
  readonly token?: string;
  /** How many items it processes. Without it, it works until it is stopped, and reports how far it is. */
  readonly items?: number;
  readonly batch: number;
  /** How many handlers run at a time. Default: as many as the contender needs for the batch. */
  readonly concurrency?: number;
  /** Whether jobtree's worker claims items before a handler is free for them. Default: the worker's own. */
  readonly claimAhead?: boolean;
  /** Types of later stages, which it processes as well. */
  readonly laterTargets?: readonly string[];
  /** How long a handler takes. Default: it returns at once. */
  readonly handlerMs?: number;
  /** One in this many items fails at its first attempt. */
  readonly failEvery?: number;
  /** How many items it processes per second. Default: as many as it can. */
  readonly perSecond?: number;
}

export interface SubscribersTask {
  readonly url: string;
  /** The number of the first subscriber. Each has a number of its own, which decides what it watches. */
  readonly first: number;
}

/** What subscribers watch: the first one the first job, and so on, in turn. */
export interface Watching {
  readonly jobIds: readonly string[];
  readonly intervalMs: number;
  /** Watches all jobs of the tree of each job. */
  readonly wholeTree?: boolean;
  /** Gives each operation its own name, so that operations can't share an execution. */
  readonly apart?: boolean;
  /** As server-sent events, instead of on the WebSockets. */
  readonly asStreams?: boolean;
}

/** For the child that reads what a bare socket writes. */
export interface ReaderTask {
  readonly port: number;
  readonly connections: number;
}

/** For the child that uses another table of a database under load. */
export interface BystanderTask {
  readonly databaseUrl: string;
}

/** For the idle worker, and for the child that adds items for it. */
export interface WakeTask {
  readonly contender: 'jobtree' | 'graphile';
  readonly url: string;
  readonly job: string;
  readonly type: string;
}

/** For the child that creates jobs, or adds items to jobs, and gives up when that takes too long. */
export interface ImpatientTask {
  readonly url: string;
  readonly items: number;
  readonly limitMs: number;
  readonly token?: string;
  /** The jobs to which it adds, one after the other. Default: it creates jobs. */
  readonly jobIds?: readonly string[];
}

/** Workers that wait with one claim each: for these types, by turns. */
export interface IdleClaimsTask {
  readonly url: string;
  readonly types: readonly string[];
  readonly waitMs: number;
}
