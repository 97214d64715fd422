/**
 * Logs failures, of which a job may have a million: for each type and code, the first one at once, and then a line a minute. Each
 * line names an item; `items` is how many items of the type failed with the code, in any job.
 */
import type { Logger } from 'pino';
import { itemIdOf } from '../values/ids.ts';
import { Repeats } from './repeats.ts';

/** Items of a job that failed with the same code, and the first of them, as report_results returns it. */
export type FailedItems = readonly [
  type: string,
  jobId: string,
  position: number,
  attempt: number,
  worker: string | null,
  code: string,
  message: string,
  /** When it is due again; null if it failed for good. */
  retryAt: string | null,
  items: number,
];

interface Line {
  readonly type: string;
  readonly jobId: string;
  readonly itemId: string;
  readonly attempt: number;
  readonly worker?: string;
  readonly code: string;
  readonly message: string;
  readonly retryAt?: string;
  readonly final: boolean;
}

export class FailureLog {
  readonly #logger: Logger;
  readonly #repeats: Repeats<Line>;

  constructor(logger: Logger) {
    this.#logger = logger;
    this.#repeats = new Repeats((last, items) => this.#write(last, items));
  }

  note(failed: readonly FailedItems[] | null): void {
    for (const [type, jobId, position, attempt, worker, code, message, retryAt, items] of failed ?? []) {
      const line: Line = {
        type,
        jobId,
        itemId: itemIdOf({ jobId, position }),
        attempt,
        ...(worker !== null && { worker }),
        code,
        message,
        ...(retryAt !== null && { retryAt }),
        final: retryAt === null,
      };
      if (!this.#repeats.isRepeat(`${line.final} ${type} ${code}`, line, items)) this.#write(line, items);
    }
  }

  #write(line: Line, items: number): void {
    this.#logger.info({ ...line, items }, 'item failed');
  }
}
