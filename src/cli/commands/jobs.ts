/** `jobtree jobs`: a list of jobs, the newest first. */
import type { Job, JobOutcome, JobStatus } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { count } from '../figures.ts';
import { oneLine, print } from '../output.ts';

export interface JobsOptions extends ApiOptions {
  readonly type?: string;
  readonly status?: Lowercase<JobStatus>;
  readonly outcome?: Lowercase<JobOutcome>;
  readonly schedule?: string;
  readonly limit: number;
  readonly idleSince?: Date;
  readonly all?: true;
}

export async function listJobs(options: JobsOptions): Promise<number> {
  const { type, status, outcome, schedule, limit, idleSince, all } = options;
  const filter = {
    type,
    status: status?.toUpperCase() as JobStatus | undefined,
    outcome: outcome?.toUpperCase() as JobOutcome | undefined,
    schedule,
    idleSince: idleSince?.toISOString(),
    rootsOnly: all !== true,
  };
  await withClient(options, async (client) => {
    if (!options.json) print(line('ID', 'TYPE', 'STATUS', 'ITEMS'));
    let left = limit;
    let after: string | undefined;
    do {
      const page = await client.jobs({ filter, first: Math.min(left, 1_000), after });
      for (const job of page.nodes) print(options.json ? `${JSON.stringify(job)}\n` : toLine(job));
      left -= page.nodes.length;
      after = page.hasNextPage && left > 0 ? (page.endCursor ?? undefined) : undefined;
    } while (after !== undefined);
  });
  return exitCodes.success;
}

function toLine({ id, type, failedAt, cancelledAt, progress }: Job): string {
  const { status, itemProgress, itemCount, failed } = progress;
  const done = `${count(itemProgress)}/${count(itemCount)}`;
  // What is ended is so before what was pending in it is counted.
  const ended = failedAt != null ? 'FAILED' : cancelledAt != null ? 'CANCELLED' : undefined;
  const outcome = status === 'COMPLETED' ? progress.outcome : ended;
  const word = outcome == null || outcome === 'SUCCEEDED' ? status.toLowerCase() : outcome.toLowerCase();
  return line(id, oneLine(type), word, failed > 0 ? `${done}, ${count(failed)} failed` : done);
}

/** The id comes first and whole: it is what the other commands want. */
function line(id: string, type: string, status: string, items: string): string {
  return `${id.padEnd(40)}  ${type.padEnd(16)}  ${status.padEnd(9)}  ${items}\n`;
}
