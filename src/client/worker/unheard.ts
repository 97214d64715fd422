/** Writes to the console what a worker has to report if nobody listens. */
import { JobtreeError } from '../errors.ts';
import type { Assignment } from '../types.ts';
import { visible } from '../visible.ts';
import type { ReportedFailure } from './events.ts';
import { Problems } from './problems.ts';
import { stackOf } from './stack.ts';

export class Unheard {
  readonly #worker: string;
  readonly #failures = new Problems<() => string>((text, again) => this.warn(text(), again));

  constructor(worker: string) {
    this.#worker = worker;
  }

  /** What the server refuses is said by its message; where in the client that was noticed helps nobody. */
  error(error: unknown, again: number): void {
    if (error instanceof JobtreeError && error.code !== 'BAD_RESPONSE')
      console.error(visible(`${this.#prefix(again)}: ${error.code}: ${error.message}`));
    else console.error(`${this.#prefix(again)}:`, error);
  }

  warn(text: string, again = 0): void {
    console.warn(visible(`${this.#prefix(again)}: ${text}`));
  }

  /** Logs the first failure of each type and code, then one a minute. */
  failed({ itemId, type, attempt }: Assignment, { code, message, retryAt, error }: ReportedFailure): void {
    const tell = () => {
      const next = retryAt === null ? 'for good' : `and is tried again at ${retryAt}`;
      // A stack begins with the name of the error, which may be the code, and the message.
      const cause = stackOf(error) ?? message;
      const reason = cause.startsWith(`${code}: `) ? cause : `${code}: ${cause}`;
      return `${itemId} of ${type} failed at attempt ${attempt}, ${next}: ${reason}`;
    };
    this.#failures.add(tell, `${type} ${code}`);
  }

  #prefix(again: number): string {
    return `jobtree worker ${this.#worker}${again === 0 ? '' : `, ${again} times more`}`;
  }
}
