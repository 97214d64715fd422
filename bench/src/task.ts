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
  /** After how many it is done; without it, it works until it is killed, and tells how far it is. */
  readonly items?: number;
  readonly batch: number;
}
