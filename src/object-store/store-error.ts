import { UnavailableError } from '../errors.ts';

/** The object store can't do it at the moment, or not at all; nothing else is wrong. */
export class StoreError extends UnavailableError {
  /** The store's own word for it, such as `AccessDenied` or `NoSuchBucket`, or that of the network; for programs. */
  readonly reason: string;
  /** What is wrong, in a sentence. */
  readonly problem: string;

  constructor(problem: string, reason: string) {
    super(problem);
    this.problem = problem;
    this.reason = reason;
  }
}
