import { UnavailableError } from '../errors.ts';

/** The object store can't do what it was asked, at the moment or at all; nothing else is wrong. */
export class StoreError extends UnavailableError {
  /** The code of the store, such as `AccessDenied` or `NoSuchBucket`, or of the network; for programs. */
  readonly reason: string;
  /** What is wrong, in a sentence. */
  readonly problem: string;

  constructor(problem: string, reason: string) {
    super(problem);
    this.problem = problem;
    this.reason = reason;
  }
}
