/** `jobtree jobs`: a list of jobs, the newest first. */
import type { Job, JobOutcome, JobStatus } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { colourOf } from '../colours.ts';
import { exitCodes } from '../exit-codes.ts';
import { age, count } from '../figures.ts';
import { print } from '../output.ts';
import { type Cell, Table } from '../table.ts';

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
  const table = new Table(columns);
  await withClient(options, async (client) => {
    let left = limit;
    let after: string | undefined;
    do {
      const page = await client.jobs({ filter, first: Math.min(left, 1_000), after });
      if (options.json) for (const job of page.nodes) print(`${JSON.stringify(job)}\n`);
      else table.print(page.nodes.map(toCells));
      left -= page.nodes.length;
      after = page.hasNextPage && left > 0 ? (page.endCursor ?? undefined) : undefined;
    } while (after !== undefined);
  });
  return exitCodes.success;
}

/** The id comes first and whole: it is what the other commands take. */
const columns = [
  { title: 'ID' },
  { title: 'TYPE', cut: 'middle' },
  { title: 'STATUS' },
  { title: 'ITEMS' },
  { title: 'AGE', align: 'right', spare: true },
] as const;

function toCells({ id, type, failedAt, cancelledAt, createdAt, progress }: Job): Cell[] {
  const { status, itemProgress, itemCount, failed } = progress;
  const done = `${count(itemProgress)}/${count(itemCount)}`;
  // What is ended is so before what was pending in it is counted.
  const ended = failedAt != null ? 'FAILED' : cancelledAt != null ? 'CANCELLED' : undefined;
  const outcome = progress.outcome ?? ended;
  const word = (outcome == null || outcome === 'SUCCEEDED' ? status : outcome).toLowerCase();
  return [
    id,
    type,
    { text: word, colour: colourOf(word) },
    failed > 0 ? `${done}, ${count(failed)} failed` : done,
    age(createdAt),
  ];
}
